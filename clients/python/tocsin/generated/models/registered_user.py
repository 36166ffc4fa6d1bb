from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="RegisteredUser")


@_attrs_define
class RegisteredUser:
    """
    Attributes:
        username (str):
        first_name (str):
        last_name (str):
        email (str):
    """

    username: str
    first_name: str
    last_name: str
    email: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        username = self.username

        first_name = self.first_name

        last_name = self.last_name

        email = self.email

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "username": username,
                "first_name": first_name,
                "last_name": last_name,
                "email": email,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        username = d.pop("username")

        first_name = d.pop("first_name")

        last_name = d.pop("last_name")

        email = d.pop("email")

        registered_user = cls(
            username=username,
            first_name=first_name,
            last_name=last_name,
            email=email,
        )

        registered_user.additional_properties = d
        return registered_user

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
