from enum import StrEnum


class TriggerOptionsType0PriorityType1(StrEnum):
    BULK = "bulk"
    NORMAL = "normal"
    URGENT = "urgent"

    def __str__(self) -> str:
        return str(self.value)
