from enum import StrEnum


class ListedOccurrenceState(StrEnum):
    CANCELLED = "cancelled"
    DELIVERING = "delivering"
    DONE = "done"
    EXPANDING = "expanding"
    SCHEDULED = "scheduled"

    def __str__(self) -> str:
        return str(self.value)
