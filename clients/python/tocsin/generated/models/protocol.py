from enum import StrEnum


class Protocol(StrEnum):
    EMAIL = "EMAIL"
    PLAINTEXT = "PLAINTEXT"
    SLACK = "SLACK"
    SMS = "SMS"
    WEBHOOK = "WEBHOOK"

    def __str__(self) -> str:
        return str(self.value)
