import os
from http import HTTPStatus

from tocsin import AuthenticatedClient
from tocsin.api.applications import register
from tocsin.api.distribution_lists import add_recipients, list_distribution_lists
from tocsin.api.events import trigger_event
from tocsin.api.users import enroll_user, list_users, update_user
from tocsin.models import AddressInput, CustomFields, EnrolledUser, Enrollment, EnrollmentCustomFieldsType0, InvalidProblem
from tocsin.models import Registration, Trigger, TriggerContextType0, TriggerOptionsType0, UserPatch, UserPatchCustomFieldsType0

client = AuthenticatedClient(base_url=os.environ["TOCSIN_URL"], token=os.environ["TOCSIN_KEY"], prefix="Key")
email = "py@example.org"

made = enroll_user.sync_detailed("acme", client=client, body=Enrollment(
    email=email, first_name="Ada", custom_fields=EnrollmentCustomFieldsType0.from_dict({"plan": "pro", "nested": {"n": 1}})))
assert made.status_code == HTTPStatus.CREATED, made
assert isinstance(made.parsed, EnrolledUser) and isinstance(made.parsed.custom_fields, CustomFields)
assert made.parsed.custom_fields.to_dict() == {"plan": "pro", "nested": {"n": 1}}

changed = update_user.sync("acme", email, client=client, body=UserPatch(
    custom_fields=UserPatchCustomFieldsType0.from_dict({"plan": "free"})))
assert changed.custom_fields["plan"] == "free"

registered = register.sync("acme", "shop", "web", client=client, body=Registration(
    username=email, addresses=[AddressInput(value=email, assign_to_preferred_channel=True), AddressInput(value="+4915112345678")],
    distribution_list="customers"))
assert [a.type_.value for a in registered.addresses] == ["email", "phone"]
assert registered.distribution_list.recipients_added == 1

options = TriggerOptionsType0(limit_to=[email])
triggered = trigger_event.sync_detailed("acme", "shop", "web", "newsletter", client=client, idempotency_key="py",
                                        body=Trigger(context=TriggerContextType0.from_dict({"title": "Hello", "body": "World"}), options=options))
assert triggered.status_code == HTTPStatus.CREATED, triggered

lists = list_distribution_lists.sync("acme", "shop", client=client)
assert add_recipients.sync("acme", "shop", lists[0].id, client=client, body=[email]).added == []
assert len(list_users.sync("acme", client=client, limit=1)) == 1

wrong = enroll_user.sync("acme", client=client, body=Enrollment(email="nobody"))
assert isinstance(wrong, InvalidProblem) and "email" in wrong.errors, wrong
