from enum import StrEnum


class TriggerOptionsType0PriorityType1(StrEnum):
    BULK = "bulk"
    NORMAL = "normal"
    URGENT = "urgent"
    VALUE_3 = ""

    def __str__(self) -> str:
        return str(self.value)
