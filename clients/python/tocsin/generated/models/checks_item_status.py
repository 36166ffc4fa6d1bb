from enum import StrEnum


class ChecksItemStatus(StrEnum):
    FAILING = "failing"
    OK = "ok"

    def __str__(self) -> str:
        return str(self.value)
