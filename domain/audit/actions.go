package audit

// Action is what was done: the kind of thing that it was done to, and a verb.
type Action string

// The actions.
const (
	AccountCreated      Action = "account.create"
	PasswordSet         Action = "account.password"
	SignedIn            Action = "account.sign_in"
	SignedOut           Action = "account.sign_out"
	SignedOutEverywhere Action = "account.sign_out_everywhere"
	SessionEnded        Action = "account.end_session"
	LanguageChosen      Action = "account.language"
	SignInFailed        Action = "account.sign_in_failed"
	SignInRefused       Action = "account.sign_in_refused"
	Reauthenticated     Action = "account.sign_in_again"
	DeviceAdded         Action = "account.new_device"
	LogExported         Action = "audit.export"

	SignedOutByProvider Action = "account.sign_out_by_provider"
	BreakGlassUsed      Action = "account.break_glass"
	IdentityLinked      Action = "account.link_identity"
	IdentityUnlinked    Action = "account.unlink_identity"
	AdministratorSet    Action = "account.administrator"

	FactorAdded          Action = "account.factor_add"
	FactorRemoved        Action = "account.factor_remove"
	FactorsReset         Action = "account.factors_reset"
	FactorRenamed        Action = "account.factor_rename"
	FactorAsked          Action = "account.factor_asked"
	FactorFailed         Action = "account.factor_failed"
	PasskeyBlocked       Action = "account.passkey_block"
	FactorReencrypted    Action = "account.factor_re-encrypt"
	RecoveryCodesRenewed Action = "account.recovery_codes"
	RecoveryCodeUsed     Action = "account.recovery_code_used"

	// MemberCreated is recorded in the unit of work that creates the member, with the same time,
	// by which it is found (see About).
	MemberCreated  Action = "member.create"
	MemberUpdated  Action = "member.update"
	MemberRemoved  Action = "member.remove"
	MemberLocked   Action = "member.lock"
	RoleSet        Action = "member.role"
	MemberInvited  Action = "member.invite"
	MemberMailed   Action = "member.invite_mail"
	MemberAccepted Action = "member.accept"
	MembersListed  Action = "member.export"
	AddressAdded   Action = "address.add"
	AddressRemoved Action = "address.remove"

	AssignmentAdded   Action = "assignment.add"
	AssignmentUpdated Action = "assignment.update"
	AssignmentRemoved Action = "assignment.remove"

	Registered           Action = "membership.register"
	Unregistered         Action = "membership.unregister"
	MembershipLocked     Action = "membership.lock"
	NotificationsEnabled Action = "membership.enable_notifications"

	RecipientsAdded   Action = "recipients.add"
	RecipientsRemoved Action = "recipients.remove"
	SubscriptionSet   Action = "subscription.set"
	OptOutSet         Action = "opt_out.set"

	EventTriggered    Action = "event.trigger"
	DeliveriesRetried Action = "deliveries.retry"

	OccurrenceCancelled Action = "occurrence.cancel"

	ProblemSnoozed Action = "problem.snooze"
	SnoozeEnded    Action = "problem.wake"

	ChannelTested       Action = "channel.test"
	SettingsReencrypted Action = "channel.re-encrypt"
	SettingsDiscarded   Action = "channel.discard_settings"
	MailboxCleared      Action = "mailbox.clear"

	KeyCreated Action = "key.create"
	KeyUpdated Action = "key.update"
	KeyRevoked Action = "key.revoke"
	KeyRotated Action = "key.rotate"

	ImportUploaded  Action = "import.upload"
	ImportMapped    Action = "import.map"
	ImportBegun     Action = "import.begin"
	ImportCancelled Action = "import.cancel"
	ImportEnded     Action = "import.end"
	ImportUndoBegun Action = "import.undo"
	ImportUndoEnded Action = "import.undo_end"

	InstallationHeld     Action = "installation.hold"
	InstallationReleased Action = "installation.release"
	MaintenanceBegun     Action = "installation.maintenance_on"
	MaintenanceEnded     Action = "installation.maintenance_off"
	InstallationRestored Action = "installation.restore"
)

// The actions on an organization's structure: create, update, delete.
const (
	OrganizationCreated Action = "organization.create"
	OrganizationUpdated Action = "organization.update"
	GroupCreated        Action = "group.create"
	GroupUpdated        Action = "group.update"
	GroupDeleted        Action = "group.delete"
	ProjectCreated      Action = "project.create"
	ProjectUpdated      Action = "project.update"
	ChannelCreated      Action = "channel.create"
	ChannelUpdated      Action = "channel.update"
	ChannelDeleted      Action = "channel.delete"
	ListCreated         Action = "list.create"
	ListUpdated         Action = "list.update"
	ListDeleted         Action = "list.delete"
	ApplicationCreated  Action = "application.create"
	ApplicationUpdated  Action = "application.update"
	ApplicationDeleted  Action = "application.delete"
	EventCreated        Action = "event.create"
	EventUpdated        Action = "event.update"
	EventDeleted        Action = "event.delete"
	NotificationCreated Action = "notification.create"
	NotificationUpdated Action = "notification.update"
	NotificationDeleted Action = "notification.delete"
	TemplateCreated     Action = "template.create"
	TemplateUpdated     Action = "template.update"
	TemplateDeleted     Action = "template.delete"
	TemplateTested      Action = "template.test"
	PartialCreated      Action = "partial.create"
	PartialUpdated      Action = "partial.update"
	PartialDeleted      Action = "partial.delete"
)
