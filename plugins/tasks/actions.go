package tasks

import "github.com/flowrun/flowrun/sdk"

// The declarations of the 16 actions. Where the document does not show a body,
// its example is an empty object: fields are not invented (T-63).

func invitationActions() []sdk.Part {
	return []sdk.Part{
		sdk.Once("invitation_delete", "Deletes a workspace invitation. Only admins may. The body is not documented and sent as it is.", deleteInvitation,
			options(sdk.Example("a body of your own", example{"body": example{}}, sdk.Value(responseOutput)))...),
		sdk.Read("invitations_list", "All pending invitations of a workspace, for all its members. The list has no pages.", listInvitations,
			options(sdk.Example("one workspace", example{"workspace_id": 40317}, sdk.Value(invitationsOutput)))...),
		sdk.Idempotent("invitation_accept", "Accepts an invitation on behalf of the user whose credential it is.", answerInvitation("accept"),
			options(sdk.ValidateField("/invite_code", codeProblems), sdk.Example("the code of an e-mail", example{"invite_code": "CODE-FROM-THE-MAIL"}, sdk.Value(invitationOutput)))...),
		sdk.Idempotent("invitation_reject", "Rejects an invitation on behalf of the user whose credential it is.", answerInvitation("reject"),
			options(sdk.ValidateField("/invite_code", codeProblems), sdk.Example("the code of an e-mail", example{"invite_code": "CODE-FROM-THE-MAIL"}, sdk.Value(invitationOutput)))...),
	}
}

func (s *service) projectActions() []sdk.Part {
	return []sdk.Part{
		sdk.Read("projects_archived", "Archived projects of a workspace, a page. Guests may not list them.", s.projects("archived", archivedHints()),
			pageOptions(sdk.Example("the first page", example{"workspace_id": 40317}, sdk.Value(pageOutput)))...),
		sdk.Read("projects_active", "Active projects of a workspace, a page: also those that are visible and not joined; guests get only the ones they joined.",
			s.projects("active", nil),
			pageOptions(sdk.Example("pages of 500", example{"workspace_id": 40317, "limit": 500}, sdk.Value(pageOutput)))...),
		sdk.Once("users_invite", "Invites users to a workspace by e-mail. The body is not documented and sent as it is.", inviteUsers,
			options(sdk.Example("a body of your own", example{"workspace_id": 40317, "body": example{}}, sdk.Value(responseOutput)))...),
	}
}

func labelActions() []sdk.Part {
	return []sdk.Part{
		sdk.Once("label_remove", "Removes a shared label from all active tasks. The body is not documented and sent as it is.", removeLabel,
			options(sdk.Example("a body of your own", example{"body": example{}}, sdk.Value(responseOutput)))...),
		sdk.Once("label_rename", "Renames a shared label on all active tasks. The body is not documented and sent as it is.", renameLabel,
			options(sdk.Example("a body of your own", example{"body": example{}}, sdk.Value(responseOutput)))...),
	}
}

func (s *service) completedActions() []sdk.Part {
	week := example{"since": "2026-01-05T00:00:00Z", "until": "2026-01-12T00:00:00Z"}
	filtered := example{"since": "2026-01-05T00:00:00Z", "until": "2026-01-12T00:00:00Z", "filter_query": "@client-x", "limit": 200}
	return []sdk.Part{
		sdk.Read("completed_by_completion_date",
			"Tasks completed in a range of at most 3 months, a page: of all projects joined in a workspace, of all own projects, or those that match a filter.",
			s.byCompletion,
			pageOptions(sdk.RangeMax("since", "until", completionWindow), sdk.ValidateWith(byCompletionProblems),
				sdk.Example("one week", week, sdk.Value(tasksOutput)), sdk.Example("one week of a client", filtered, sdk.Value(pageOutput)))...),
		sdk.Read("completed_by_due_date",
			"Completed tasks that were due in a range of at most 6 weeks, a page: as by completion date, or of one project, section or parent task.",
			s.byDueDate,
			pageOptions(sdk.RangeMax("since", "until", dueWindow), sdk.ValidateWith(byDueDateProblems), sdk.Example("one week", week, sdk.Value(tasksOutput)))...),
		sdk.Read("stats", "Productivity statistics of the credential's user: counts of days and weeks, karma, goals, streaks, colours.", stats,
			options(sdk.Example("the statistics", sdk.NoInput{}, sdk.Value(statsOutput)))...),
	}
}

func (s *service) billingActions() []sdk.Part {
	return []sdk.Part{
		sdk.Once("migrate_personal_token",
			"Exchanges a personal token of the old e-mail and password method for an OAuth access token and stores it. The body is not documented and sent as it is.",
			s.migrate, options(sdk.Example("a body of your own", example{"body": example{}, "store_as": "main"}, sdk.Value(migratedOutput)))...),
		sdk.Once("usage_top_up", "Creates a checkout session that tops up the user's personal automations wallet. It is money: confirm must be true.", topUp,
			options(sdk.Example("without a body", example{"confirm": true}, sdk.Value(responseOutput)))...),
		sdk.Read("usage_summary", "Run count and cost of settled usage; void, expiry and chargeback reverse a grant and are not counted.", usageSummary,
			options(sdk.ValidateWith(summaryProblems), sdk.Example("everything", example{}, sdk.Value(summaryOutput)),
				sdk.Example("a month of one category", example{"category": "automation_run", "since": "2026-01-01T00:00:00", "until": "2026-02-01T00:00:00"}, sdk.Value(summaryOutput)))...),
		sdk.Read("usage_history", "Movements of the balance, newest first, a page; with `incremental` only those that came since.", s.usageHistory,
			pageOptions(sdk.Incremental(), sdk.Example("the first page", example{"product": "automations", "limit": 200}, sdk.Value(historyOutput)))...),
	}
}
