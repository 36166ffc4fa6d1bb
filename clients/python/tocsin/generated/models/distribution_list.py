from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="DistributionList")


@_attrs_define
class DistributionList:
    """
    Attributes:
        id (int):
        name (str): Unique within the project without regard to case.
        members (str): URL of the members.
        application (int | None): Id of the application that the list is pinned to, else `null`.
    """

    id: int
    name: str
    members: str
    application: int | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        name = self.name

        members = self.members

        application: int | None
        application = self.application

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "members": members,
                "application": application,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        members = d.pop("members")

        def _parse_application(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        application = _parse_application(d.pop("application"))

        distribution_list = cls(
            id=id,
            name=name,
            members=members,
            application=application,
        )

        distribution_list.additional_properties = d
        return distribution_list

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
