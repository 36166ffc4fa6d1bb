from enum import StrEnum


class BlueprintChangeKind(StrEnum):
    APPLICATION = "application"
    CHANNEL = "channel"
    EVENT = "event"
    GROUP = "group"
    LIST = "list"
    NOTIFICATION = "notification"
    ORGANIZATION = "organization"
    PARTIAL = "partial"
    PROJECT = "project"
    TEMPLATE = "template"

    def __str__(self) -> str:
        return str(self.value)
