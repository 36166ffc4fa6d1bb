from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.key_patch_grants_type_0_item import KeyPatchGrantsType0Item
from ..types import UNSET, Unset

T = TypeVar("T", bound="KeyPatch")


@_attrs_define
class KeyPatch:
    """
    Attributes:
        name (None | str | Unset):
        grants (list[KeyPatchGrantsType0Item] | None | Unset):
        at_most_normal (bool | None | Unset):
        expires (datetime.datetime | None | Unset): `null`: never.
    """

    name: None | str | Unset = UNSET
    grants: list[KeyPatchGrantsType0Item] | None | Unset = UNSET
    at_most_normal: bool | None | Unset = UNSET
    expires: datetime.datetime | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        grants: list[str] | None | Unset
        if isinstance(self.grants, Unset):
            grants = UNSET
        elif isinstance(self.grants, list):
            grants = []
            for grants_type_0_item_data in self.grants:
                grants_type_0_item = grants_type_0_item_data.value
                grants.append(grants_type_0_item)

        else:
            grants = self.grants

        at_most_normal: bool | None | Unset
        if isinstance(self.at_most_normal, Unset):
            at_most_normal = UNSET
        else:
            at_most_normal = self.at_most_normal

        expires: None | str | Unset
        if isinstance(self.expires, Unset):
            expires = UNSET
        elif isinstance(self.expires, datetime.datetime):
            expires = self.expires.isoformat()
        else:
            expires = self.expires

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if name is not UNSET:
            field_dict["name"] = name
        if grants is not UNSET:
            field_dict["grants"] = grants
        if at_most_normal is not UNSET:
            field_dict["at_most_normal"] = at_most_normal
        if expires is not UNSET:
            field_dict["expires"] = expires

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        def _parse_grants(data: object) -> list[KeyPatchGrantsType0Item] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                grants_type_0 = []
                _grants_type_0 = data
                for grants_type_0_item_data in _grants_type_0:
                    grants_type_0_item = KeyPatchGrantsType0Item(
                        grants_type_0_item_data
                    )

                    grants_type_0.append(grants_type_0_item)

                return grants_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[KeyPatchGrantsType0Item] | None | Unset, data)

        grants = _parse_grants(d.pop("grants", UNSET))

        def _parse_at_most_normal(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        at_most_normal = _parse_at_most_normal(d.pop("at_most_normal", UNSET))

        def _parse_expires(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                expires_type_0 = datetime.datetime.fromisoformat(data)

                return expires_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        expires = _parse_expires(d.pop("expires", UNSET))

        key_patch = cls(
            name=name,
            grants=grants,
            at_most_normal=at_most_normal,
            expires=expires,
        )

        key_patch.additional_properties = d
        return key_patch

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
