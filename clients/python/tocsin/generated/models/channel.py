from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.protocol import Protocol

T = TypeVar("T", bound="Channel")


@_attrs_define
class Channel:
    """A way out. Its settings are never shown.

    Attributes:
        id (int):
        name (str):
        protocol (Protocol):
        driver (str):
        preferred (bool): Whether new assignments prefer it among the channels of its protocol.
        active (bool):
        pool (str): The pool that it is a member of; empty for none.
        weight (int): Its share of what the pool sends.
    """

    id: int
    name: str
    protocol: Protocol
    driver: str
    preferred: bool
    active: bool
    pool: str
    weight: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        name = self.name

        protocol = self.protocol.value

        driver = self.driver

        preferred = self.preferred

        active = self.active

        pool = self.pool

        weight = self.weight

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "protocol": protocol,
                "driver": driver,
                "preferred": preferred,
                "active": active,
                "pool": pool,
                "weight": weight,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        protocol = Protocol(d.pop("protocol"))

        driver = d.pop("driver")

        preferred = d.pop("preferred")

        active = d.pop("active")

        pool = d.pop("pool")

        weight = d.pop("weight")

        channel = cls(
            id=id,
            name=name,
            protocol=protocol,
            driver=driver,
            preferred=preferred,
            active=active,
            pool=pool,
            weight=weight,
        )

        channel.additional_properties = d
        return channel

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
