from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.address_input import AddressInput
    from ..models.registration_custom_fields_type_0 import RegistrationCustomFieldsType0


T = TypeVar("T", bound="Registration")


@_attrs_define
class Registration:
    """
    Attributes:
        username (str): A user is created when there is none of this name.
        first_name (None | str | Unset): Used only when the user becomes a member of the organization.
        last_name (None | str | Unset): Used only when the user becomes a member of the organization.
        email (None | str | Unset): Used only when the user becomes a member of the organization.
        custom_fields (None | RegistrationCustomFieldsType0 | Unset): Merged into what the application recorded about
            the user.
        active (bool | None | Unset): When false the user gets no notifications of the application. Without it, true.
        addresses (list[AddressInput] | None | Unset): Addresses to create for the user. A value that is repeated counts
            once.
        distribution_list (None | str | Unset): Name of a list of the application's project, without regard to case.
            Every assignment of the answer is added to it. A list
            that does not exist, or is pinned to another application, is refused with `400`.
    """

    username: str
    first_name: None | str | Unset = UNSET
    last_name: None | str | Unset = UNSET
    email: None | str | Unset = UNSET
    custom_fields: None | RegistrationCustomFieldsType0 | Unset = UNSET
    active: bool | None | Unset = UNSET
    addresses: list[AddressInput] | None | Unset = UNSET
    distribution_list: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.registration_custom_fields_type_0 import (
            RegistrationCustomFieldsType0,  # noqa: PLC0415
        )

        username = self.username

        first_name: None | str | Unset
        if isinstance(self.first_name, Unset):
            first_name = UNSET
        else:
            first_name = self.first_name

        last_name: None | str | Unset
        if isinstance(self.last_name, Unset):
            last_name = UNSET
        else:
            last_name = self.last_name

        email: None | str | Unset
        if isinstance(self.email, Unset):
            email = UNSET
        else:
            email = self.email

        custom_fields: dict[str, Any] | None | Unset
        if isinstance(self.custom_fields, Unset):
            custom_fields = UNSET
        elif isinstance(self.custom_fields, RegistrationCustomFieldsType0):
            custom_fields = self.custom_fields.to_dict()
        else:
            custom_fields = self.custom_fields

        active: bool | None | Unset
        if isinstance(self.active, Unset):
            active = UNSET
        else:
            active = self.active

        addresses: list[dict[str, Any]] | None | Unset
        if isinstance(self.addresses, Unset):
            addresses = UNSET
        elif isinstance(self.addresses, list):
            addresses = []
            for addresses_type_0_item_data in self.addresses:
                addresses_type_0_item = addresses_type_0_item_data.to_dict()
                addresses.append(addresses_type_0_item)

        else:
            addresses = self.addresses

        distribution_list: None | str | Unset
        if isinstance(self.distribution_list, Unset):
            distribution_list = UNSET
        else:
            distribution_list = self.distribution_list

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "username": username,
            }
        )
        if first_name is not UNSET:
            field_dict["first_name"] = first_name
        if last_name is not UNSET:
            field_dict["last_name"] = last_name
        if email is not UNSET:
            field_dict["email"] = email
        if custom_fields is not UNSET:
            field_dict["custom_fields"] = custom_fields
        if active is not UNSET:
            field_dict["active"] = active
        if addresses is not UNSET:
            field_dict["addresses"] = addresses
        if distribution_list is not UNSET:
            field_dict["distribution_list"] = distribution_list

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.address_input import AddressInput  # noqa: PLC0415
        from ..models.registration_custom_fields_type_0 import (
            RegistrationCustomFieldsType0,  # noqa: PLC0415
        )

        d = dict(src_dict)
        username = d.pop("username")

        def _parse_first_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        first_name = _parse_first_name(d.pop("first_name", UNSET))

        def _parse_last_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        last_name = _parse_last_name(d.pop("last_name", UNSET))

        def _parse_email(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        email = _parse_email(d.pop("email", UNSET))

        def _parse_custom_fields(
            data: object,
        ) -> None | RegistrationCustomFieldsType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                custom_fields_type_0 = RegistrationCustomFieldsType0.from_dict(data)

                return custom_fields_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | RegistrationCustomFieldsType0 | Unset, data)

        custom_fields = _parse_custom_fields(d.pop("custom_fields", UNSET))

        def _parse_active(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        active = _parse_active(d.pop("active", UNSET))

        def _parse_addresses(data: object) -> list[AddressInput] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                addresses_type_0 = []
                _addresses_type_0 = data
                for addresses_type_0_item_data in _addresses_type_0:
                    addresses_type_0_item = AddressInput.from_dict(
                        addresses_type_0_item_data
                    )

                    addresses_type_0.append(addresses_type_0_item)

                return addresses_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[AddressInput] | None | Unset, data)

        addresses = _parse_addresses(d.pop("addresses", UNSET))

        def _parse_distribution_list(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        distribution_list = _parse_distribution_list(d.pop("distribution_list", UNSET))

        registration = cls(
            username=username,
            first_name=first_name,
            last_name=last_name,
            email=email,
            custom_fields=custom_fields,
            active=active,
            addresses=addresses,
            distribution_list=distribution_list,
        )

        registration.additional_properties = d
        return registration

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
