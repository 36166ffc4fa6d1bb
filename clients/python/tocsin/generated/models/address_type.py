from enum import StrEnum


class AddressType(StrEnum):
    EMAIL_ADDRESS = "email"
    OTHER_ADDRESS = "generic"
    PHONE_NUMBER = "phone"
    WEB_ADDRESS = "url"

    def __str__(self) -> str:
        return str(self.value)
