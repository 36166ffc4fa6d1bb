from enum import StrEnum


class Cause(StrEnum):
    ANSWER = "answer"
    CHANNEL_NOT_WORKING = "channel not working"
    ITS_TURN = "its turn"
    LIMIT_OF_THE_CHANNEL = "limit of the channel"
    NEXT_ATTEMPT = "next attempt"
    QUOTA_OF_THE_CHANNEL = "quota of the channel"
    RECIPIENTS = "recipients"
    SCHEDULED = "scheduled"
    SENDING_IS_STOPPED = "sending is stopped"

    def __str__(self) -> str:
        return str(self.value)
