// Package storetest tells whether a store does what engine/store says: Exercise shows
// each behaviour from outside, through the interfaces alone. What a store keeps beside
// that, such as the form of a file, is for tests of its own.
package storetest

import (
	"testing"

	"github.com/flowrun/flowrun/engine/store"
)

// Backend is a kind of store.
type Backend struct {
	// Open opens the store of a folder, which is empty at first: with what it held
	// when it was closed. What goes wrong ends the test.
	Open func(t testing.TB, dir string, s Settings) store.Store
	// Check looks at what a closed store has left in a folder; nil = there is nothing
	// to look at.
	Check func(t testing.TB, dir string)
	// Seed is that of all that is drawn; a failure names it.
	Seed uint64
}

// Settings are those of one opening.
type Settings struct {
	store.Hooks
	// Short says whether space is short: no new run is taken then. nil = it never is.
	Short func() bool
}

// Exercise shows every behaviour on a backend, each in a subtest; they run side by side.
func Exercise(t *testing.T, b Backend) {
	t.Helper()
	for _, c := range behaviours() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.show(t, b)
		})
	}
}

// behaviour is one thing that every store must show.
type behaviour struct {
	name string
	show func(t *testing.T, b Backend)
}

func behaviours() []behaviour {
	return []behaviour{
		{"Issue12_18AFailureNeedsSomebodyUntilItIsSettled", aFailureNeedsSomebodyUntilItIsSettled},
		{"ARunSurvivesReopening", aRunSurvivesReopening},
		{"ARepeatedRequestMakesOneRun", aRepeatedRequestMakesOneRun},
		{"HostileNamesAreNotFound", hostileNamesAreNotFound},
		{"IndexesFollowTheRow", indexesFollowTheRow},
		{"RunsAreListedNewestFirst", runsAreListedNewestFirst},
		{"RunsAreFoundByTheLettersOfTheirIDs", runsAreFoundByTheLettersOfTheirIDs},
		{"AMatchHasTheLastWordOnARow", aMatchHasTheLastWordOnARow},
		{"RecordsArePaged", recordsArePaged},
		{"AJournalHasNoHoles", aJournalHasNoHoles},
		{"Issue13_08EachRecordIsReadOnce", eachRecordIsReadOnce},
		{"Issue13_02WhatARunTakesIsMeasured", whatARunTakesIsMeasured},
		{"LargeValuesComeBack", largeValuesComeBack},
		{"ALargePlanComesBack", aLargePlanComesBack},
		{"WritersMayReadTheirRecordsMeanwhile", writersMayReadTheirRecordsMeanwhile},
		{"P5StateAndCursorsAreWrittenWithTheSuccessOrNotAtAll", stateAndCursorsAreWrittenWithTheSuccessOrNotAtAll},
		{"P5ACursorThatStaysKeepsItsVersion", aCursorThatStaysKeepsItsVersion},
		{"HistoryIsBoundedAndTellsWhoAndWhen", historyIsBoundedAndTellsWhoAndWhen},
		{"NoWorkflowReachesIntoAnothersState", noWorkflowReachesIntoAnothersState},
		{"Rule16PlacesAreGivenInOneTransaction", placesAreGivenInOneTransaction},
		{"Rule16NobodyPassesThoseThatWait", nobodyPassesThoseThatWait},
		{"LabelsAreIndexed", labelsAreIndexed},
		{"P10ARunItsFireAndTheTriggersStateAreOne", aRunItsFireAndTheTriggersStateAreOne},
		{"P10ASlotHasOneRun", aSlotHasOneRun},
		{"P10ManyStartsOfOneSlotAtOnce", manyStartsOfOneSlotAtOnce},
		{"ASkippedSlotIsFilledByABackfillAlone", aSkippedSlotIsFilledByABackfillAlone},
		{"FiresThatAreNoSlotsNeverPassForOneAnother", firesThatAreNoSlotsNeverPassForOneAnother},
		{"TheStateOfASlotThatAPersonAskedFor", theStateOfASlotThatAPersonAskedFor},
		{"PutFiresOverwritesNothing", putFiresOverwritesNothing},
		{"NoChangeOfATriggersStateIsLost", noChangeOfATriggersStateIsLost},
		{"OldFiresGo", oldFiresGo},
		{"P12AFireThatHasItsRunIsAnsweredWhileSpaceIsShort", aFireThatHasItsRunIsAnsweredWhileSpaceIsShort},
		{"FiresAreListedAsAPlainListWouldBe", firesAreListedAsAPlainListWouldBe},
		{"ACursorOfFiresThatNobodyGaveIsRefused", aCursorOfFiresThatNobodyGaveIsRefused},
		{"FiresBetweenIsOldestFirstAndBounded", firesBetweenIsOldestFirstAndBounded},
		{"WhatBecomesOfARunGoesToTheOutbox", whatBecomesOfARunGoesToTheOutbox},
		{"TheOutboxIsTakenOutInOrder", theOutboxIsTakenOutInOrder},
		{"TheOutboxIsBounded", theOutboxIsBounded},
		{"ARemovedRunIsForgottenByTheOutbox", aRemovedRunIsForgottenByTheOutbox},
		{"ATriggerThatTheEnginePausesGoesToTheOutbox", aTriggerThatTheEnginePausesGoesToTheOutbox},
		{"RowsOfRunsAreToldWhenTheyAreDurable", rowsOfRunsAreToldWhenTheyAreDurable},
		{"KVFollowsItsModel", kVFollowsItsModel},
		{"OneOfManyCompareAndSetsWins", oneOfManyCompareAndSetsWins},
		{"KVBounds", kVBounds},
		{"LogsComeBackInOrder", logsComeBackInOrder},
		{"TheLogOfAStepIsBounded", theLogOfAStepIsBounded},
		{"ALogIsReadInPagesFromBothEnds", aLogIsReadInPagesFromBothEnds},
		{"ASearchThatFindsLittleLooksAtSoMuchAtATime", aSearchThatFindsLittleLooksAtSoMuchAtATime},
		{"WhatWasDroppedStandsAtTheEndOfEveryReading", whatWasDroppedStandsAtTheEndOfEveryReading},
		{"ExpireByAge", expireByAge},
		{"Issue12_19OneBusyWorkflowDoesNotCutTheOthers", oneBusyWorkflowDoesNotCutTheOthers},
		{"Issue12_19TheCeilingTakesFromTheLargest", theCeilingTakesFromTheLargest},
		{"ExpireTakesTheRunsOfSubWorkflowsWithTheirParents", expireTakesTheRunsOfSubWorkflowsWithTheirParents},
		{"Issue12_18CountsFollowTheRuns", countsFollowTheRuns},
		{"Issue12_18AListByWorkflowAndStatusReadsItsOwn", aListByWorkflowAndStatusReadsItsOwn},
		{"SessionsOutliveTheProcessAndEnd", sessionsOutliveTheProcessAndEnd},
		{"P12NoNewRunIsTakenWhileSpaceIsShort", noNewRunIsTakenWhileSpaceIsShort},
		{"CloseCommitsWhatWaits", closeCommitsWhatWaits},
		{"ARemovedRunIsGone", aRemovedRunIsGone},
		{"WhoTakesTheRoomIsTold", whoTakesTheRoomIsTold},
		{"RowsAreRewrittenInPlace", rowsAreRewrittenInPlace},
		{"BlobsComeBackAsTheyWent", blobsComeBackAsTheyWent},
		{"ABlobIsReadFromAnywhere", aBlobIsReadFromAnywhere},
		{"AnUploadGoesOnWhereItStood", anUploadGoesOnWhereItStood},
		{"MalformedPartsAreRefused", malformedPartsAreRefused},
		{"ABlobIsItsRunsAlone", aBlobIsItsRunsAlone},
		{"EqualBlobsAreOne", equalBlobsAreOne},
		{"UploadsEndWithTheirCallAndRun", uploadsEndWithTheirCallAndRun},
		{"ASweepTakesWhatNobodyNeeds", aSweepTakesWhatNobodyNeeds},
		{"ManyWritersOfOneUploadLeaveOneValue", manyWritersOfOneUploadLeaveOneValue},
	}
}

// fresh opens a store of a folder of its own, and closes it at the end.
func (b Backend) fresh(t testing.TB) store.Store {
	t.Helper()
	return b.open(t, t.TempDir())
}

// open opens a store, and closes it at the end.
func (b Backend) open(t testing.TB, dir string) store.Store {
	t.Helper()
	s := b.Open(t, dir, Settings{})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// shut closes a store and looks at what it leaves.
func (b Backend) shut(t testing.TB, s store.Store, dir string) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if b.Check != nil {
		b.Check(t, dir)
	}
}
