from __future__ import annotations

from collections.abc import Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeVar,
    cast,
)

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.error_code import ErrorCode

if TYPE_CHECKING:
    from ..models.invalid_problem_errors import InvalidProblemErrors


T = TypeVar("T", bound="InvalidProblem")


@_attrs_define
class InvalidProblem:
    """A problem document (RFC 9457) that says what is wrong with each field.

    Attributes:
        type_ (str): The page that explains the code.
        title (Literal['Bad Request']):
        status (Literal[400]):
        code (ErrorCode): What went wrong, for programs. A code never changes its meaning. A later version may answer
            further codes: treat one that you do not
            know by its status.
        detail (str):
        param (None | str): The member of the body, header, query parameter or part of the path that is wrong. Of
            several it is the first; when no single one is, `null`.
        request_id (str):
        errors (InvalidProblemErrors): Field → messages. A field is named by its path in the body, such as
            `addresses[2].value`, by the name of a parameter, or
            `body` for the body as a whole.
    """

    type_: str
    title: Literal["Bad Request"]
    status: Literal[400]
    code: ErrorCode
    detail: str
    param: None | str
    request_id: str
    errors: InvalidProblemErrors
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        title = self.title

        status = self.status

        code = self.code.value

        detail = self.detail

        param: None | str
        param = self.param

        request_id = self.request_id

        errors = self.errors.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "title": title,
                "status": status,
                "code": code,
                "detail": detail,
                "param": param,
                "request_id": request_id,
                "errors": errors,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.invalid_problem_errors import (
            InvalidProblemErrors,  # noqa: PLC0415
        )

        d = dict(src_dict)
        type_ = d.pop("type")

        title = cast(Literal["Bad Request"], d.pop("title"))
        if title != "Bad Request":
            raise ValueError(f"title must match const 'Bad Request', got '{title}'")

        status = cast(Literal[400], d.pop("status"))
        if status != 400:
            raise ValueError(f"status must match const 400, got '{status}'")

        code = ErrorCode(d.pop("code"))

        detail = d.pop("detail")

        def _parse_param(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        param = _parse_param(d.pop("param"))

        request_id = d.pop("request_id")

        errors = InvalidProblemErrors.from_dict(d.pop("errors"))

        invalid_problem = cls(
            type_=type_,
            title=title,
            status=status,
            code=code,
            detail=detail,
            param=param,
            request_id=request_id,
            errors=errors,
        )

        invalid_problem.additional_properties = d
        return invalid_problem

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
