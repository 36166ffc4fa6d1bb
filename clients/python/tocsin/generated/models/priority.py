from enum import StrEnum


class Priority(StrEnum):
    BULK = "bulk"
    NORMAL = "normal"
    URGENT = "urgent"

    def __str__(self) -> str:
        return str(self.value)
