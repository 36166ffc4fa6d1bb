from enum import StrEnum


class ListRolesRole(StrEnum):
    ADMINISTRATOR = "administrator"
    OPERATOR = "operator"
    VIEWER = "viewer"

    def __str__(self) -> str:
        return str(self.value)
