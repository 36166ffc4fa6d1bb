from enum import StrEnum


class ListAuditVia(StrEnum):
    API = "API"
    COMMAND_LINE = "command line"
    CONSOLE = "console"
    UNSUBSCRIBE_LINK = "unsubscribe link"

    def __str__(self) -> str:
        return str(self.value)
