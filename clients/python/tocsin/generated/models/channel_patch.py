from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.channel_patch_settings_type_0 import ChannelPatchSettingsType0


T = TypeVar("T", bound="ChannelPatch")


@_attrs_define
class ChannelPatch:
    """
    Attributes:
        preferred (bool | None | Unset):
        active (bool | None | Unset):
        pool (None | str | Unset): Empty for none.
        weight (int | None | Unset):
        settings (ChannelPatchSettingsType0 | None | Unset):
    """

    preferred: bool | None | Unset = UNSET
    active: bool | None | Unset = UNSET
    pool: None | str | Unset = UNSET
    weight: int | None | Unset = UNSET
    settings: ChannelPatchSettingsType0 | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.channel_patch_settings_type_0 import (
            ChannelPatchSettingsType0,  # noqa: PLC0415
        )

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

        pool: None | str | Unset
        if isinstance(self.pool, Unset):
            pool = UNSET
        else:
            pool = self.pool

        weight: int | None | Unset
        if isinstance(self.weight, Unset):
            weight = UNSET
        else:
            weight = self.weight

        settings: dict[str, Any] | None | Unset
        if isinstance(self.settings, Unset):
            settings = UNSET
        elif isinstance(self.settings, ChannelPatchSettingsType0):
            settings = self.settings.to_dict()
        else:
            settings = self.settings

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if preferred is not UNSET:
            field_dict["preferred"] = preferred
        if active is not UNSET:
            field_dict["active"] = active
        if pool is not UNSET:
            field_dict["pool"] = pool
        if weight is not UNSET:
            field_dict["weight"] = weight
        if settings is not UNSET:
            field_dict["settings"] = settings

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.channel_patch_settings_type_0 import (
            ChannelPatchSettingsType0,  # noqa: PLC0415
        )

        d = dict(src_dict)

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

        def _parse_pool(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        pool = _parse_pool(d.pop("pool", UNSET))

        def _parse_weight(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        weight = _parse_weight(d.pop("weight", UNSET))

        def _parse_settings(data: object) -> ChannelPatchSettingsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                settings_type_0 = ChannelPatchSettingsType0.from_dict(data)

                return settings_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ChannelPatchSettingsType0 | None | Unset, data)

        settings = _parse_settings(d.pop("settings", UNSET))

        channel_patch = cls(
            preferred=preferred,
            active=active,
            pool=pool,
            weight=weight,
            settings=settings,
        )

        channel_patch.additional_properties = d
        return channel_patch

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
