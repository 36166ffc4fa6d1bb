from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.protocol import Protocol

if TYPE_CHECKING:
    from ..models.channel_details_settings import ChannelDetailsSettings
    from ..models.channel_outage import ChannelOutage


T = TypeVar("T", bound="ChannelDetails")


@_attrs_define
class ChannelDetails:
    """A channel with its settings.

    Attributes:
        id (int):
        name (str):
        protocol (Protocol):
        driver (str):
        preferred (bool):
        active (bool):
        pool (str): The pool that it is a member of; empty for none.
        weight (int): Its share of what the pool sends; 0: it sends when no other member works.
        unrestricted (bool): Whether the installation lets it reach private addresses.
        settings (ChannelDetailsSettings): Those that are no secrets.
        secrets (list[str]): Names of the secrets that are set.
        sealed (str): Why its settings cannot be read; empty when they can.
        outages (list[ChannelOutage]):
    """

    id: int
    name: str
    protocol: Protocol
    driver: str
    preferred: bool
    active: bool
    pool: str
    weight: int
    unrestricted: bool
    settings: ChannelDetailsSettings
    secrets: list[str]
    sealed: str
    outages: list[ChannelOutage]
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

        unrestricted = self.unrestricted

        settings = self.settings.to_dict()

        secrets = self.secrets

        sealed = self.sealed

        outages = []
        for outages_item_data in self.outages:
            outages_item = outages_item_data.to_dict()
            outages.append(outages_item)

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
                "unrestricted": unrestricted,
                "settings": settings,
                "secrets": secrets,
                "sealed": sealed,
                "outages": outages,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.channel_details_settings import (
            ChannelDetailsSettings,  # noqa: PLC0415
        )
        from ..models.channel_outage import ChannelOutage  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        protocol = Protocol(d.pop("protocol"))

        driver = d.pop("driver")

        preferred = d.pop("preferred")

        active = d.pop("active")

        pool = d.pop("pool")

        weight = d.pop("weight")

        unrestricted = d.pop("unrestricted")

        settings = ChannelDetailsSettings.from_dict(d.pop("settings"))

        secrets = cast(list[str], d.pop("secrets"))

        sealed = d.pop("sealed")

        outages = []
        _outages = d.pop("outages")
        for outages_item_data in _outages:
            outages_item = ChannelOutage.from_dict(outages_item_data)

            outages.append(outages_item)

        channel_details = cls(
            id=id,
            name=name,
            protocol=protocol,
            driver=driver,
            preferred=preferred,
            active=active,
            pool=pool,
            weight=weight,
            unrestricted=unrestricted,
            settings=settings,
            secrets=secrets,
            sealed=sealed,
            outages=outages,
        )

        channel_details.additional_properties = d
        return channel_details

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
