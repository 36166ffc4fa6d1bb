from enum import IntEnum


class LimitedProblemStatus(IntEnum):
    VALUE_413 = 413
    VALUE_429 = 429

    def __str__(self) -> str:
        return str(self.value)
