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
    from ..models.checks_item import ChecksItem


T = TypeVar("T", bound="NotReadyProblem")


@_attrs_define
class NotReadyProblem:
    """A problem document (RFC 9457) that lists what was checked.

    Attributes:
        type_ (str): The page that explains the code.
        title (Literal['Service Unavailable']):
        status (Literal[503]):
        code (ErrorCode): What went wrong, for programs. A code never changes its meaning. A later version may answer
            further codes: treat one that you do not
            know by its status.
        detail (Literal['the service is not ready']):
        param (None | str): The member of the body, header, query parameter or part of the path that is wrong. Of
            several it is the first; when no single one is, `null`.
        request_id (str):
        checks (list[ChecksItem]): What was checked.
    """

    type_: str
    title: Literal["Service Unavailable"]
    status: Literal[503]
    code: ErrorCode
    detail: Literal["the service is not ready"]
    param: None | str
    request_id: str
    checks: list[ChecksItem]
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

        checks = []
        for componentsschemas_checks_item_data in self.checks:
            componentsschemas_checks_item = componentsschemas_checks_item_data.to_dict()
            checks.append(componentsschemas_checks_item)

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
                "checks": checks,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.checks_item import ChecksItem  # noqa: PLC0415

        d = dict(src_dict)
        type_ = d.pop("type")

        title = cast(Literal["Service Unavailable"], d.pop("title"))
        if title != "Service Unavailable":
            raise ValueError(
                f"title must match const 'Service Unavailable', got '{title}'"
            )

        status = cast(Literal[503], d.pop("status"))
        if status != 503:
            raise ValueError(f"status must match const 503, got '{status}'")

        code = ErrorCode(d.pop("code"))

        detail = cast(Literal["the service is not ready"], d.pop("detail"))
        if detail != "the service is not ready":
            raise ValueError(
                f"detail must match const 'the service is not ready', got '{detail}'"
            )

        def _parse_param(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        param = _parse_param(d.pop("param"))

        request_id = d.pop("request_id")

        checks = []
        _checks = d.pop("checks")
        for componentsschemas_checks_item_data in _checks:
            componentsschemas_checks_item = ChecksItem.from_dict(
                componentsschemas_checks_item_data
            )

            checks.append(componentsschemas_checks_item)

        not_ready_problem = cls(
            type_=type_,
            title=title,
            status=status,
            code=code,
            detail=detail,
            param=param,
            request_id=request_id,
            checks=checks,
        )

        not_ready_problem.additional_properties = d
        return not_ready_problem

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
