from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.bulk_enrollment_result_status import BulkEnrollmentResultStatus
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.enrolled_user import EnrolledUser
    from ..models.invalid_problem import InvalidProblem


T = TypeVar("T", bound="BulkEnrollmentResult")


@_attrs_define
class BulkEnrollmentResult:
    """The result for one user of a bulk call.

    Attributes:
        status (BulkEnrollmentResultStatus): What the call for this user alone would have answered.
        user (EnrolledUser | Unset): A member of the organization, and whether this call created the user.
        problem (InvalidProblem | Unset): A problem document (RFC 9457) that says what is wrong with each field.
    """

    status: BulkEnrollmentResultStatus
    user: EnrolledUser | Unset = UNSET
    problem: InvalidProblem | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        status = self.status.value

        user: dict[str, Any] | Unset = UNSET
        if not isinstance(self.user, Unset):
            user = self.user.to_dict()

        problem: dict[str, Any] | Unset = UNSET
        if not isinstance(self.problem, Unset):
            problem = self.problem.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "status": status,
            }
        )
        if user is not UNSET:
            field_dict["user"] = user
        if problem is not UNSET:
            field_dict["problem"] = problem

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.enrolled_user import EnrolledUser  # noqa: PLC0415
        from ..models.invalid_problem import InvalidProblem  # noqa: PLC0415

        d = dict(src_dict)
        status = BulkEnrollmentResultStatus(d.pop("status"))

        _user = d.pop("user", UNSET)
        user: EnrolledUser | Unset
        if isinstance(_user, Unset):
            user = UNSET
        else:
            user = EnrolledUser.from_dict(_user)

        _problem = d.pop("problem", UNSET)
        problem: InvalidProblem | Unset
        if isinstance(_problem, Unset):
            problem = UNSET
        else:
            problem = InvalidProblem.from_dict(_problem)

        bulk_enrollment_result = cls(
            status=status,
            user=user,
            problem=problem,
        )

        bulk_enrollment_result.additional_properties = d
        return bulk_enrollment_result

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
