from enum import StrEnum


class IssuedKeyState(StrEnum):
    ACTIVE = "active"
    EXPIRED = "expired"
    REPLACED = "replaced"
    REVOKED = "revoked"

    def __str__(self) -> str:
        return str(self.value)
