from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.custom_fields import CustomFields


T = TypeVar("T", bound="ApplicationMembership")


@_attrs_define
class ApplicationMembership:
    """What an application records about a user. Notifications of the application are delivered only when the membership is
    active, not locked and has notifications enabled.

        Attributes:
            id (int): Id of the user.
            username (str):
            email (str): As the organization recorded it; empty if the user is not registered.
            registered (bool): Whether the user is registered with the application; if not, all but `locked` is what a
                registration begins with.
            custom_fields (CustomFields): Metadata, any JSON object of at most 64 KiB and 2,000 values. By convention the id
                in an external system is kept as `external_id`.
            active (bool): As the application said at the last registration.
            locked (bool):
            enable_notifications (bool):
    """

    id: int
    username: str
    email: str
    registered: bool
    custom_fields: CustomFields
    active: bool
    locked: bool
    enable_notifications: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        username = self.username

        email = self.email

        registered = self.registered

        custom_fields = self.custom_fields.to_dict()

        active = self.active

        locked = self.locked

        enable_notifications = self.enable_notifications

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "username": username,
                "email": email,
                "registered": registered,
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
        id = d.pop("id")

        username = d.pop("username")

        email = d.pop("email")

        registered = d.pop("registered")

        custom_fields = CustomFields.from_dict(d.pop("custom_fields"))

        active = d.pop("active")

        locked = d.pop("locked")

        enable_notifications = d.pop("enable_notifications")

        application_membership = cls(
            id=id,
            username=username,
            email=email,
            registered=registered,
            custom_fields=custom_fields,
            active=active,
            locked=locked,
            enable_notifications=enable_notifications,
        )

        application_membership.additional_properties = d
        return application_membership

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
