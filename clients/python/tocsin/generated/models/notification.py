from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="Notification")


@_attrs_define
class Notification:
    """
    Attributes:
        id (int):
        name (str):
        event (int): Id of the event that triggers it.
        distribution_list (int | None): Id of the list of its recipients, else `null`.
        active (bool):
    """

    id: int
    name: str
    event: int
    distribution_list: int | None
    active: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        name = self.name

        event = self.event

        distribution_list: int | None
        distribution_list = self.distribution_list

        active = self.active

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "event": event,
                "distribution_list": distribution_list,
                "active": active,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        event = d.pop("event")

        def _parse_distribution_list(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        distribution_list = _parse_distribution_list(d.pop("distribution_list"))

        active = d.pop("active")

        notification = cls(
            id=id,
            name=name,
            event=event,
            distribution_list=distribution_list,
            active=active,
        )

        notification.additional_properties = d
        return notification

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
