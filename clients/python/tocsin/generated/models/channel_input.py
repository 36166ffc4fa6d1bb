from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.protocol import Protocol
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.channel_input_settings_type_0 import ChannelInputSettingsType0


T = TypeVar("T", bound="ChannelInput")


@_attrs_define
class ChannelInput:
    """
    Attributes:
        name (str):
        protocol (Protocol):
        driver (str):
        preferred (bool | None | Unset): Without it, false.
        active (bool | None | Unset): Without it, true.
        settings (ChannelInputSettingsType0 | None | Unset):
    """

    name: str
    protocol: Protocol
    driver: str
    preferred: bool | None | Unset = UNSET
    active: bool | None | Unset = UNSET
    settings: ChannelInputSettingsType0 | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.channel_input_settings_type_0 import (
            ChannelInputSettingsType0,  # noqa: PLC0415
        )

        name = self.name

        protocol = self.protocol.value

        driver = self.driver

        preferred: bool | None | Unset
        if isinstance(self.preferred, Unset):
            preferred = UNSET
        else:
            preferred = self.preferred

        active: bool | None | Unset
        if isinstance(self.active, Unset):
            active = UNSET
        else:
            active = self.active

        settings: dict[str, Any] | None | Unset
        if isinstance(self.settings, Unset):
            settings = UNSET
        elif isinstance(self.settings, ChannelInputSettingsType0):
            settings = self.settings.to_dict()
        else:
            settings = self.settings

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "protocol": protocol,
                "driver": driver,
            }
        )
        if preferred is not UNSET:
            field_dict["preferred"] = preferred
        if active is not UNSET:
            field_dict["active"] = active
        if settings is not UNSET:
            field_dict["settings"] = settings

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.channel_input_settings_type_0 import (
            ChannelInputSettingsType0,  # noqa: PLC0415
        )

        d = dict(src_dict)
        name = d.pop("name")

        protocol = Protocol(d.pop("protocol"))

        driver = d.pop("driver")

        def _parse_preferred(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        preferred = _parse_preferred(d.pop("preferred", UNSET))

        def _parse_active(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        active = _parse_active(d.pop("active", UNSET))

        def _parse_settings(data: object) -> ChannelInputSettingsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                settings_type_0 = ChannelInputSettingsType0.from_dict(data)

                return settings_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ChannelInputSettingsType0 | None | Unset, data)

        settings = _parse_settings(d.pop("settings", UNSET))

        channel_input = cls(
            name=name,
            protocol=protocol,
            driver=driver,
            preferred=preferred,
            active=active,
            settings=settings,
        )

        channel_input.additional_properties = d
        return channel_input

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
