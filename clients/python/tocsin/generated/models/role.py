from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.role_role import RoleRole

T = TypeVar("T", bound="Role")


@_attrs_define
class Role:
    """What a user may do in the console of the organization.

    Attributes:
        username (str):
        role (RoleRole):
        accepted (datetime.datetime | None): When the user accepted a role of this organization; `null`: not yet, and
            the role opens nothing.
        locked (bool): Whether the user is locked in this organization, so that the role opens nothing.
    """

    username: str
    role: RoleRole
    accepted: datetime.datetime | None
    locked: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        username = self.username

        role = self.role.value

        accepted: None | str
        if isinstance(self.accepted, datetime.datetime):
            accepted = self.accepted.isoformat()
        else:
            accepted = self.accepted

        locked = self.locked

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "username": username,
                "role": role,
                "accepted": accepted,
                "locked": locked,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        username = d.pop("username")

        role = RoleRole(d.pop("role"))

        def _parse_accepted(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                accepted_type_0 = datetime.datetime.fromisoformat(data)

                return accepted_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        accepted = _parse_accepted(d.pop("accepted"))

        locked = d.pop("locked")

        role = cls(
            username=username,
            role=role,
            accepted=accepted,
            locked=locked,
        )

        role.additional_properties = d
        return role

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
