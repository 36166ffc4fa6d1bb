from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="Organization")


@_attrs_define
class Organization:
    """
    Attributes:
        name (str):
        slug (str):
        default_region (str): Whose phone numbers those without country code are, by two letters of ISO 3166. Empty,
            they are refused.
        searchable_metadata (list[str]): Paths of metadata that users are found by in the console, beside `external_id`
            and what everybody is found by.
        users (str):
        projects (str):
        channels (str):
    """

    name: str
    slug: str
    default_region: str
    searchable_metadata: list[str]
    users: str
    projects: str
    channels: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        slug = self.slug

        default_region = self.default_region

        searchable_metadata = self.searchable_metadata

        users = self.users

        projects = self.projects

        channels = self.channels

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "slug": slug,
                "default_region": default_region,
                "searchable_metadata": searchable_metadata,
                "users": users,
                "projects": projects,
                "channels": channels,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        slug = d.pop("slug")

        default_region = d.pop("default_region")

        searchable_metadata = cast(list[str], d.pop("searchable_metadata"))

        users = d.pop("users")

        projects = d.pop("projects")

        channels = d.pop("channels")

        organization = cls(
            name=name,
            slug=slug,
            default_region=default_region,
            searchable_metadata=searchable_metadata,
            users=users,
            projects=projects,
            channels=channels,
        )

        organization.additional_properties = d
        return organization

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
