from enum import StrEnum


class EventInputPriorityType2Type1(StrEnum):
    BULK = "bulk"
    NORMAL = "normal"
    URGENT = "urgent"
    VALUE_3 = ""

    def __str__(self) -> str:
        return str(self.value)
