from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.error_code import ErrorCode
from ..models.limited_problem_status import LimitedProblemStatus

T = TypeVar("T", bound="LimitedProblem")


@_attrs_define
class LimitedProblem:
    """A problem document (RFC 9457) that names the quota which would be exceeded.

    Attributes:
        type_ (str): The page that explains the code.
        title (str): The meaning of the status.
        status (LimitedProblemStatus):
        code (ErrorCode): What went wrong, for programs. A code never changes its meaning. A later version may answer
            further codes: treat one that you do not
            know by its status.
        detail (str):
        param (None | str): The member of the body, header, query parameter or part of the path that is wrong. Of
            several it is the first; when no single one is, `null`.
        request_id (str):
        quota (str): The name of the setting that limits it.
    """

    type_: str
    title: str
    status: LimitedProblemStatus
    code: ErrorCode
    detail: str
    param: None | str
    request_id: str
    quota: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        title = self.title

        status = self.status.value

        code = self.code.value

        detail = self.detail

        param: None | str
        param = self.param

        request_id = self.request_id

        quota = self.quota

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
                "quota": quota,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = d.pop("type")

        title = d.pop("title")

        status = LimitedProblemStatus(d.pop("status"))

        code = ErrorCode(d.pop("code"))

        detail = d.pop("detail")

        def _parse_param(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        param = _parse_param(d.pop("param"))

        request_id = d.pop("request_id")

        quota = d.pop("quota")

        limited_problem = cls(
            type_=type_,
            title=title,
            status=status,
            code=code,
            detail=detail,
            param=param,
            request_id=request_id,
            quota=quota,
        )

        limited_problem.additional_properties = d
        return limited_problem

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
