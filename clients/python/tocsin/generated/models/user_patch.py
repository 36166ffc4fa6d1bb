from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.user_patch_mode_type_1 import UserPatchModeType1
from ..models.user_patch_mode_type_2_type_1 import UserPatchModeType2Type1
from ..models.user_patch_mode_type_3_type_1 import UserPatchModeType3Type1
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.user_patch_custom_fields_type_0 import UserPatchCustomFieldsType0


T = TypeVar("T", bound="UserPatch")


@_attrs_define
class UserPatch:
    """
    Attributes:
        custom_fields (None | Unset | UserPatchCustomFieldsType0): The metadata to apply.
        field_mode (None | Unset | UserPatchModeType1 | UserPatchModeType2Type1 | UserPatchModeType3Type1): Without it,
            `merge`.

            - `merge`: objects merge at every depth, anything else is replaced; `null` is a value.
            - `override`: the top-level members sent are replaced.
            - `rewrite`: the metadata becomes exactly what is sent.
            - `remove`: the members sent are deleted. Where both sides hold an object and the sent one is not empty, only
            what it names goes.
            - `ignore`: custom fields are left alone.
        first_name (None | str | Unset):
        last_name (None | str | Unset):
        email (None | str | Unset): An e-mail address alone, with a domain.
    """

    custom_fields: None | Unset | UserPatchCustomFieldsType0 = UNSET
    field_mode: (
        None
        | Unset
        | UserPatchModeType1
        | UserPatchModeType2Type1
        | UserPatchModeType3Type1
    ) = UNSET
    first_name: None | str | Unset = UNSET
    last_name: None | str | Unset = UNSET
    email: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.user_patch_custom_fields_type_0 import (
            UserPatchCustomFieldsType0,  # noqa: PLC0415
        )

        custom_fields: dict[str, Any] | None | Unset
        if isinstance(self.custom_fields, Unset):
            custom_fields = UNSET
        elif isinstance(self.custom_fields, UserPatchCustomFieldsType0):
            custom_fields = self.custom_fields.to_dict()
        else:
            custom_fields = self.custom_fields

        field_mode: None | str | Unset
        if isinstance(self.field_mode, Unset):
            field_mode = UNSET
        elif isinstance(self.field_mode, UserPatchModeType1):
            field_mode = self.field_mode.value
        elif isinstance(self.field_mode, UserPatchModeType2Type1):
            field_mode = self.field_mode.value
        elif isinstance(self.field_mode, UserPatchModeType3Type1):
            field_mode = self.field_mode.value
        else:
            field_mode = self.field_mode

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

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if custom_fields is not UNSET:
            field_dict["custom_fields"] = custom_fields
        if field_mode is not UNSET:
            field_dict["_mode"] = field_mode
        if first_name is not UNSET:
            field_dict["first_name"] = first_name
        if last_name is not UNSET:
            field_dict["last_name"] = last_name
        if email is not UNSET:
            field_dict["email"] = email

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.user_patch_custom_fields_type_0 import (
            UserPatchCustomFieldsType0,  # noqa: PLC0415
        )

        d = dict(src_dict)

        def _parse_custom_fields(
            data: object,
        ) -> None | Unset | UserPatchCustomFieldsType0:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                custom_fields_type_0 = UserPatchCustomFieldsType0.from_dict(data)

                return custom_fields_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | UserPatchCustomFieldsType0, data)

        custom_fields = _parse_custom_fields(d.pop("custom_fields", UNSET))

        def _parse_field_mode(
            data: object,
        ) -> (
            None
            | Unset
            | UserPatchModeType1
            | UserPatchModeType2Type1
            | UserPatchModeType3Type1
        ):
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                field_mode_type_1 = UserPatchModeType1(data)

                return field_mode_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, str):
                    raise TypeError()
                field_mode_type_2_type_1 = UserPatchModeType2Type1(data)

                return field_mode_type_2_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, str):
                    raise TypeError()
                field_mode_type_3_type_1 = UserPatchModeType3Type1(data)

                return field_mode_type_3_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(
                None
                | Unset
                | UserPatchModeType1
                | UserPatchModeType2Type1
                | UserPatchModeType3Type1,
                data,
            )

        field_mode = _parse_field_mode(d.pop("_mode", UNSET))

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

        user_patch = cls(
            custom_fields=custom_fields,
            field_mode=field_mode,
            first_name=first_name,
            last_name=last_name,
            email=email,
        )

        user_patch.additional_properties = d
        return user_patch

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
