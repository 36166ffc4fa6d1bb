from enum import StrEnum


class KeyPatchGrantsType0Item(StrEnum):
    APPLICATIONWRITE = "application:write"
    AUDITREAD = "audit:read"
    BLUEPRINTAPPLY = "blueprint:apply"
    CHANNELREAD = "channel:read"
    CHANNELWRITE = "channel:write"
    DELIVERYREAD = "delivery:read"
    DELIVERYWRITE = "delivery:write"
    DISTRIBUTIONLISTREAD = "distributionlist:read"
    DISTRIBUTIONLISTWRITE = "distributionlist:write"
    EVENTLIST = "event:list"
    EVENTTRIGGER = "event:trigger"
    EVENTWRITE = "event:write"
    FULL_ACCESS = "full_access"
    GROUPWRITE = "group:write"
    KEYREAD = "key:read"
    KEYWRITE = "key:write"
    MANAGE_APPLICATION_USERS = "manage_application_users"
    MEMBERSHIPREAD = "membership:read"
    MEMBERSHIPWRITE = "membership:write"
    ORGANIZATIONREAD = "organization:read"
    ORGANIZATIONWRITE = "organization:write"
    PROJECTWRITE = "project:write"
    ROLEREAD = "role:read"
    ROLEWRITE = "role:write"
    SYSTEMPING = "system:ping"
    TEMPLATEREAD = "template:read"
    TEMPLATEWRITE = "template:write"
    USERREAD = "user:read"
    USERWRITE = "user:write"

    def __str__(self) -> str:
        return str(self.value)
