from enum import StrEnum


class UserPatchModeType3Type1(StrEnum):
    IGNORE = "ignore"
    MERGE = "merge"
    OVERRIDE = "override"
    REMOVE = "remove"
    REWRITE = "rewrite"
    VALUE_5 = ""

    def __str__(self) -> str:
        return str(self.value)
