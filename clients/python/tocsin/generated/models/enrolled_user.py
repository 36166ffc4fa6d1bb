from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.custom_fields import CustomFields


T = TypeVar("T", bound="EnrolledUser")


@_attrs_define
class EnrolledUser:
    """A member of the organization, and whether this call created the user.

    Attributes:
        id (int):
        username (str):
        email (str):
        first_name (str):
        last_name (str):
        custom_fields (CustomFields): Metadata, any JSON object of at most 64 KiB and 2,000 values. By convention the id
            in an external system is kept as `external_id`.
        groups (list[str]):
        locked (bool):
        is_active (bool):
        created (bool): Whether the user is new in the installation.
    """

    id: int
    username: str
    email: str
    first_name: str
    last_name: str
    custom_fields: CustomFields
    groups: list[str]
    locked: bool
    is_active: bool
    created: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        username = self.username

        email = self.email

        first_name = self.first_name

        last_name = self.last_name

        custom_fields = self.custom_fields.to_dict()

        groups = self.groups

        locked = self.locked

        is_active = self.is_active

        created = self.created

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "username": username,
                "email": email,
                "first_name": first_name,
                "last_name": last_name,
                "custom_fields": custom_fields,
                "groups": groups,
                "locked": locked,
                "is_active": is_active,
                "created": created,
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

        first_name = d.pop("first_name")

        last_name = d.pop("last_name")

        custom_fields = CustomFields.from_dict(d.pop("custom_fields"))

        groups = cast(list[str], d.pop("groups"))

        locked = d.pop("locked")

        is_active = d.pop("is_active")

        created = d.pop("created")

        enrolled_user = cls(
            id=id,
            username=username,
            email=email,
            first_name=first_name,
            last_name=last_name,
            custom_fields=custom_fields,
            groups=groups,
            locked=locked,
            is_active=is_active,
            created=created,
        )

        enrolled_user.additional_properties = d
        return enrolled_user

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
