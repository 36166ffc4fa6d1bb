from enum import StrEnum


class ListOccurrencesPriority(StrEnum):
    BULK = "bulk"
    NORMAL = "normal"
    URGENT = "urgent"

    def __str__(self) -> str:
        return str(self.value)
