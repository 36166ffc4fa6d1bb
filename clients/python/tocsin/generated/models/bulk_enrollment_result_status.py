from enum import IntEnum


class BulkEnrollmentResultStatus(IntEnum):
    VALUE_200 = 200
    VALUE_201 = 201
    VALUE_400 = 400

    def __str__(self) -> str:
        return str(self.value)
