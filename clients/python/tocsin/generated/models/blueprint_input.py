from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.blueprint_input_organizations_item import (
        BlueprintInputOrganizationsItem,
    )


T = TypeVar("T", bound="BlueprintInput")


@_attrs_define
class BlueprintInput:
    """What `tocsin apply` reads. docs/management.md lists the members.

    Attributes:
        organizations (list[BlueprintInputOrganizationsItem]):
    """

    organizations: list[BlueprintInputOrganizationsItem]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        organizations = []
        for organizations_item_data in self.organizations:
            organizations_item = organizations_item_data.to_dict()
            organizations.append(organizations_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "organizations": organizations,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.blueprint_input_organizations_item import (
            BlueprintInputOrganizationsItem,  # noqa: PLC0415
        )

        d = dict(src_dict)
        organizations = []
        _organizations = d.pop("organizations")
        for organizations_item_data in _organizations:
            organizations_item = BlueprintInputOrganizationsItem.from_dict(
                organizations_item_data
            )

            organizations.append(organizations_item)

        blueprint_input = cls(
            organizations=organizations,
        )

        blueprint_input.additional_properties = d
        return blueprint_input

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
