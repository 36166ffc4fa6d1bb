from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.custom_fields import CustomFields


T = TypeVar("T", bound="Membership")


@_attrs_define
class Membership:
    """What the application records about the user. Notifications of the application are delivered only when the membership
    is
    active, not locked and has notifications enabled.

        Attributes:
            custom_fields (CustomFields): Metadata, any JSON object of at most 64 KiB and 2,000 values. By convention the id
                in an external system is kept as `external_id`.
            active (bool):
            locked (bool):
            enable_notifications (bool):
    """

    custom_fields: CustomFields
    active: bool
    locked: bool
    enable_notifications: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        custom_fields = self.custom_fields.to_dict()

        active = self.active

        locked = self.locked

        enable_notifications = self.enable_notifications

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "custom_fields": custom_fields,
                "active": active,
                "locked": locked,
                "enable_notifications": enable_notifications,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.custom_fields import CustomFields  # noqa: PLC0415

        d = dict(src_dict)
        custom_fields = CustomFields.from_dict(d.pop("custom_fields"))

        active = d.pop("active")

        locked = d.pop("locked")

        enable_notifications = d.pop("enable_notifications")

        membership = cls(
            custom_fields=custom_fields,
            active=active,
            locked=locked,
            enable_notifications=enable_notifications,
        )

        membership.additional_properties = d
        return membership

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
