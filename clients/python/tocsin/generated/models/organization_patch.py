from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="OrganizationPatch")


@_attrs_define
class OrganizationPatch:
    """
    Attributes:
        name (None | str | Unset):
        default_region (None | str | Unset): Whose phone numbers those without country code are, by two letters of ISO
            3166. Empty, they are refused.
        searchable_metadata (list[str] | None | Unset): Paths of metadata that users are found by in the console, beside
            `external_id` and what everybody is found by. Each counts once.
            After a change all members are indexed again in the background.
    """

    name: None | str | Unset = UNSET
    default_region: None | str | Unset = UNSET
    searchable_metadata: list[str] | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        default_region: None | str | Unset
        if isinstance(self.default_region, Unset):
            default_region = UNSET
        else:
            default_region = self.default_region

        searchable_metadata: list[str] | None | Unset
        if isinstance(self.searchable_metadata, Unset):
            searchable_metadata = UNSET
        elif isinstance(self.searchable_metadata, list):
            searchable_metadata = self.searchable_metadata

        else:
            searchable_metadata = self.searchable_metadata

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if name is not UNSET:
            field_dict["name"] = name
        if default_region is not UNSET:
            field_dict["default_region"] = default_region
        if searchable_metadata is not UNSET:
            field_dict["searchable_metadata"] = searchable_metadata

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

        def _parse_default_region(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        default_region = _parse_default_region(d.pop("default_region", UNSET))

        def _parse_searchable_metadata(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                searchable_metadata_type_0 = cast(list[str], data)

                return searchable_metadata_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        searchable_metadata = _parse_searchable_metadata(
            d.pop("searchable_metadata", UNSET)
        )

        organization_patch = cls(
            name=name,
            default_region=default_region,
            searchable_metadata=searchable_metadata,
        )

        organization_patch.additional_properties = d
        return organization_patch

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
