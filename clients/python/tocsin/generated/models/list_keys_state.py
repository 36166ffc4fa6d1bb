from enum import StrEnum


class ListKeysState(StrEnum):
    ACTIVE = "active"
    EXPIRED = "expired"
    REPLACED = "replaced"
    REVOKED = "revoked"

    def __str__(self) -> str:
        return str(self.value)
