"""Contains all the data models used in inputs/outputs"""

from .added import Added
from .address import Address
from .address_input import AddressInput
from .address_type import AddressType
from .application import Application
from .application_input import ApplicationInput
from .application_membership import ApplicationMembership
from .application_patch import ApplicationPatch
from .applied_blueprint import AppliedBlueprint
from .assignment import Assignment
from .audit_entry import AuditEntry
from .audit_entry_after import AuditEntryAfter
from .audit_entry_before import AuditEntryBefore
from .blueprint_change import BlueprintChange
from .blueprint_change_action import BlueprintChangeAction
from .blueprint_change_kind import BlueprintChangeKind
from .blueprint_input import BlueprintInput
from .blueprint_input_organizations_item import BlueprintInputOrganizationsItem
from .bulk_enrollment import BulkEnrollment
from .bulk_enrollment_input import BulkEnrollmentInput
from .bulk_enrollment_result import BulkEnrollmentResult
from .bulk_enrollment_result_status import BulkEnrollmentResultStatus
from .cancelled import Cancelled
from .cause import Cause
from .channel import Channel
from .channel_details import ChannelDetails
from .channel_details_settings import ChannelDetailsSettings
from .channel_input import ChannelInput
from .channel_input_settings_type_0 import ChannelInputSettingsType0
from .channel_outage import ChannelOutage
from .channel_patch import ChannelPatch
from .channel_patch_settings_type_0 import ChannelPatchSettingsType0
from .channel_test import ChannelTest
from .channel_test_input import ChannelTestInput
from .checks_item import ChecksItem
from .checks_item_status import ChecksItemStatus
from .custom_fields import CustomFields
from .deleted import Deleted
from .delivery import Delivery
from .delivery_channel_choice import DeliveryChannelChoice
from .delivery_counts import DeliveryCounts
from .delivery_state import DeliveryState
from .delivery_waiting_type_0 import DeliveryWaitingType0
from .distribution_list import DistributionList
from .distribution_list_input import DistributionListInput
from .distribution_list_patch import DistributionListPatch
from .enrolled_user import EnrolledUser
from .enrollment import Enrollment
from .enrollment_custom_fields_type_0 import EnrollmentCustomFieldsType0
from .error_code import ErrorCode
from .event import Event
from .event_context_schema_type_0 import EventContextSchemaType0
from .event_example_type_0 import EventExampleType0
from .event_input import EventInput
from .event_input_context_schema_type_0 import EventInputContextSchemaType0
from .event_input_example_type_0 import EventInputExampleType0
from .event_input_priority_type_1 import EventInputPriorityType1
from .event_input_priority_type_2_type_1 import EventInputPriorityType2Type1
from .event_input_priority_type_3_type_1 import EventInputPriorityType3Type1
from .event_patch import EventPatch
from .event_patch_context_schema_type_0 import EventPatchContextSchemaType0
from .event_patch_example_type_0 import EventPatchExampleType0
from .event_patch_priority_type_1 import EventPatchPriorityType1
from .event_patch_priority_type_2_type_1 import EventPatchPriorityType2Type1
from .event_patch_priority_type_3_type_1 import EventPatchPriorityType3Type1
from .explanation import Explanation
from .explanation_candidates_item import ExplanationCandidatesItem
from .explanation_candidates_item_gates_item import ExplanationCandidatesItemGatesItem
from .forecast import Forecast
from .forecast_left_out_item import ForecastLeftOutItem
from .forecast_messages_item import ForecastMessagesItem
from .forecast_recipients_item import ForecastRecipientsItem
from .get_document_response_200 import GetDocumentResponse200
from .group import Group
from .group_change import GroupChange
from .group_input import GroupInput
from .group_members_input import GroupMembersInput
from .health import Health
from .invalid_problem import InvalidProblem
from .invalid_problem_errors import InvalidProblemErrors
from .invitation import Invitation
from .invitation_input import InvitationInput
from .issued_key import IssuedKey
from .issued_key_state import IssuedKeyState
from .key import Key
from .key_input import KeyInput
from .key_input_grants_item import KeyInputGrantsItem
from .key_patch import KeyPatch
from .key_patch_grants_type_0_item import KeyPatchGrantsType0Item
from .key_rotation_input import KeyRotationInput
from .key_state import KeyState
from .limited_problem import LimitedProblem
from .limited_problem_status import LimitedProblemStatus
from .list_audit_via import ListAuditVia
from .list_keys_state import ListKeysState
from .list_occurrences_priority import ListOccurrencesPriority
from .list_occurrences_state import ListOccurrencesState
from .list_roles_role import ListRolesRole
from .listed_occurrence import ListedOccurrence
from .listed_occurrence_state import ListedOccurrenceState
from .member import Member
from .member_patch import MemberPatch
from .membership import Membership
from .membership_patch import MembershipPatch
from .name_patch import NamePatch
from .not_ready_problem import NotReadyProblem
from .notification import Notification
from .notification_input import NotificationInput
from .notification_patch import NotificationPatch
from .occurrence import Occurrence
from .occurrence_state import OccurrenceState
from .occurrence_waiting_item import OccurrenceWaitingItem
from .organization import Organization
from .organization_input import OrganizationInput
from .organization_patch import OrganizationPatch
from .partial import Partial
from .partial_input import PartialInput
from .partial_text import PartialText
from .ping import Ping
from .priority import Priority
from .problem import Problem
from .project import Project
from .project_input import ProjectInput
from .protocol import Protocol
from .readiness import Readiness
from .recipient import Recipient
from .recipients_input import RecipientsInput
from .registered import Registered
from .registered_addresses_item import RegisteredAddressesItem
from .registered_distribution_list_type_0 import RegisteredDistributionListType0
from .registered_user import RegisteredUser
from .registration import Registration
from .registration_custom_fields_type_0 import RegistrationCustomFieldsType0
from .removed_recipients import RemovedRecipients
from .retried import Retried
from .role import Role
from .role_input import RoleInput
from .role_input_role import RoleInputRole
from .role_role import RoleRole
from .subscription import Subscription
from .subscription_input import SubscriptionInput
from .template import Template
from .template_input import TemplateInput
from .template_text import TemplateText
from .template_version import TemplateVersion
from .trigger import Trigger
from .trigger_context_type_0 import TriggerContextType0
from .trigger_options_type_0 import TriggerOptionsType0
from .trigger_options_type_0_priority_type_1 import TriggerOptionsType0PriorityType1
from .trigger_options_type_0_priority_type_2_type_1 import (
    TriggerOptionsType0PriorityType2Type1,
)
from .trigger_options_type_0_priority_type_3_type_1 import (
    TriggerOptionsType0PriorityType3Type1,
)
from .trigger_options_type_0_recipient_filter_type_0 import (
    TriggerOptionsType0RecipientFilterType0,
)
from .triggered import Triggered
from .unsubscription_input import UnsubscriptionInput
from .user import User
from .user_patch import UserPatch
from .user_patch_custom_fields_type_0 import UserPatchCustomFieldsType0
from .user_patch_mode_type_1 import UserPatchModeType1
from .user_patch_mode_type_2_type_1 import UserPatchModeType2Type1
from .user_patch_mode_type_3_type_1 import UserPatchModeType3Type1

__all__ = (
    "Added",
    "Address",
    "AddressInput",
    "AddressType",
    "Application",
    "ApplicationInput",
    "ApplicationMembership",
    "ApplicationPatch",
    "AppliedBlueprint",
    "Assignment",
    "AuditEntry",
    "AuditEntryAfter",
    "AuditEntryBefore",
    "BlueprintChange",
    "BlueprintChangeAction",
    "BlueprintChangeKind",
    "BlueprintInput",
    "BlueprintInputOrganizationsItem",
    "BulkEnrollment",
    "BulkEnrollmentInput",
    "BulkEnrollmentResult",
    "BulkEnrollmentResultStatus",
    "Cancelled",
    "Cause",
    "Channel",
    "ChannelDetails",
    "ChannelDetailsSettings",
    "ChannelInput",
    "ChannelInputSettingsType0",
    "ChannelOutage",
    "ChannelPatch",
    "ChannelPatchSettingsType0",
    "ChannelTest",
    "ChannelTestInput",
    "ChecksItem",
    "ChecksItemStatus",
    "CustomFields",
    "Deleted",
    "Delivery",
    "DeliveryChannelChoice",
    "DeliveryCounts",
    "DeliveryState",
    "DeliveryWaitingType0",
    "DistributionList",
    "DistributionListInput",
    "DistributionListPatch",
    "EnrolledUser",
    "Enrollment",
    "EnrollmentCustomFieldsType0",
    "ErrorCode",
    "Event",
    "EventContextSchemaType0",
    "EventExampleType0",
    "EventInput",
    "EventInputContextSchemaType0",
    "EventInputExampleType0",
    "EventInputPriorityType1",
    "EventInputPriorityType2Type1",
    "EventInputPriorityType3Type1",
    "EventPatch",
    "EventPatchContextSchemaType0",
    "EventPatchExampleType0",
    "EventPatchPriorityType1",
    "EventPatchPriorityType2Type1",
    "EventPatchPriorityType3Type1",
    "Explanation",
    "ExplanationCandidatesItem",
    "ExplanationCandidatesItemGatesItem",
    "Forecast",
    "ForecastLeftOutItem",
    "ForecastMessagesItem",
    "ForecastRecipientsItem",
    "GetDocumentResponse200",
    "Group",
    "GroupChange",
    "GroupInput",
    "GroupMembersInput",
    "Health",
    "InvalidProblem",
    "InvalidProblemErrors",
    "Invitation",
    "InvitationInput",
    "IssuedKey",
    "IssuedKeyState",
    "Key",
    "KeyInput",
    "KeyInputGrantsItem",
    "KeyPatch",
    "KeyPatchGrantsType0Item",
    "KeyRotationInput",
    "KeyState",
    "LimitedProblem",
    "LimitedProblemStatus",
    "ListAuditVia",
    "ListedOccurrence",
    "ListedOccurrenceState",
    "ListKeysState",
    "ListOccurrencesPriority",
    "ListOccurrencesState",
    "ListRolesRole",
    "Member",
    "MemberPatch",
    "Membership",
    "MembershipPatch",
    "NamePatch",
    "Notification",
    "NotificationInput",
    "NotificationPatch",
    "NotReadyProblem",
    "Occurrence",
    "OccurrenceState",
    "OccurrenceWaitingItem",
    "Organization",
    "OrganizationInput",
    "OrganizationPatch",
    "Partial",
    "PartialInput",
    "PartialText",
    "Ping",
    "Priority",
    "Problem",
    "Project",
    "ProjectInput",
    "Protocol",
    "Readiness",
    "Recipient",
    "RecipientsInput",
    "Registered",
    "RegisteredAddressesItem",
    "RegisteredDistributionListType0",
    "RegisteredUser",
    "Registration",
    "RegistrationCustomFieldsType0",
    "RemovedRecipients",
    "Retried",
    "Role",
    "RoleInput",
    "RoleInputRole",
    "RoleRole",
    "Subscription",
    "SubscriptionInput",
    "Template",
    "TemplateInput",
    "TemplateText",
    "TemplateVersion",
    "Trigger",
    "TriggerContextType0",
    "Triggered",
    "TriggerOptionsType0",
    "TriggerOptionsType0PriorityType1",
    "TriggerOptionsType0PriorityType2Type1",
    "TriggerOptionsType0PriorityType3Type1",
    "TriggerOptionsType0RecipientFilterType0",
    "UnsubscriptionInput",
    "User",
    "UserPatch",
    "UserPatchCustomFieldsType0",
    "UserPatchModeType1",
    "UserPatchModeType2Type1",
    "UserPatchModeType3Type1",
)
