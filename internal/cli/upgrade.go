package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/internal/releaselist"
)

// releasesVariable names the listing that `flowrun upgrade --check` asks.
const releasesVariable = "FLOWRUN_RELEASES"

// releasesWithin is how long the listing may take to answer.
const releasesWithin = 15 * time.Second

// upgradeFlags are the flags of upgrade.
type upgradeFlags struct {
	check    bool
	releases string
}

func (a *app) upgradeCommand() *cobra.Command {
	flags := new(upgradeFlags)
	c := withText(&cobra.Command{
		Use: "upgrade", Short: "Say whether there is a newer release; nothing is downloaded", Args: exactArgs(),
		Long: "Upgrade --check asks the listing of releases which one is the newest, and says whether this flowrun is older. It\n" +
			"downloads and changes nothing. No other command asks, and this one asks when it is called. Where releases are listed:\n" +
			"--releases, else FLOWRUN_RELEASES, else " + releaselist.Listing + ".",
		Example: "  flowrun upgrade --check\n  flowrun upgrade --check -o json",
		RunE:    func(c *cobra.Command, _ []string) error { return a.upgrade(c.Context(), flags) },
	})
	c.Flags().BoolVar(&flags.check, "check", false, "ask which release is the newest")
	c.Flags().StringVar(&flags.releases, "releases", "", "ask this listing of releases (default: "+releaselist.Listing+")")
	return c
}

// upgradeAnswer is what `flowrun upgrade --check -o json` prints.
type upgradeAnswer struct {
	Current   string `json:"current"`
	Newest    string `json:"newest"` // "" = nothing is released yet
	Newer     *bool  `json:"newer"`  // null = this version can't be compared
	URL       string `json:"url,omitempty"`
	Published string `json:"published,omitempty"`
	Listing   string `json:"listing"`
}

func (a *app) upgrade(ctx context.Context, flags *upgradeFlags) error {
	if !flags.check {
		return usageError(errors.New("flowrun does not replace itself"),
			"`flowrun upgrade --check` says whether there is a newer release; install it as this one was: brew, apt, or the archive (docs/releases.md)")
	}
	listing := releaselist.Listing
	for _, other := range []string{a.env(releasesVariable), flags.releases} {
		if other != "" {
			listing = other
		}
	}
	ctx, cancel := context.WithTimeout(ctx, releasesWithin)
	defer cancel()
	newest, err := releaselist.Newest(ctx, &http.Transport{Proxy: http.ProxyFromEnvironment}, listing)
	answer := upgradeAnswer{Current: a.sys.Version, Listing: listing}
	switch {
	case errors.Is(err, releaselist.ErrNone):
		newest = &releaselist.Release{}
		answer.Newer = new(bool)
	case err != nil:
		return noListing(ctx, err)
	default:
		answer.Newest, answer.URL = newest.Version, newest.URL
		if !newest.Published.IsZero() {
			answer.Published = newest.Published.UTC().Format(time.RFC3339)
		}
		if newer, known := releaselist.IsNewer(newest.Version, a.sys.Version); known {
			answer.Newer = &newer
		}
	}
	return a.print(answer, func() { a.sayUpgrade(answer) })
}

// noListing is the error of a listing that gives no answer.
func noListing(ctx context.Context, err error) error {
	if refused, ok := errors.AsType[*releaselist.AddressError](err); ok {
		return usageError(refused, "such as "+releaselist.Listing)
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: no answer within %s", err, releasesWithin)
	}
	return &codedError{
		code: exitNoServer, err: fmt.Errorf("it is not known whether there is a newer release: %w", err),
		hint: "this flowrun goes on as it is; --releases or " + releasesVariable + " names another listing, HTTPS_PROXY a proxy",
	}
}

func (a *app) sayUpgrade(answer upgradeAnswer) {
	switch {
	case answer.Newest == "":
		a.say("nothing is released yet; this is %s", answer.Current)
		return
	case answer.Newer == nil:
		a.say("the newest release is %s; this flowrun has no version to compare (%s)", answer.Newest, answer.Current)
	case *answer.Newer:
		a.say("%s is newer; this is %s", answer.Newest, answer.Current)
	case answer.Current == answer.Newest:
		a.say("this is the newest release, %s", answer.Newest)
		return
	default:
		a.say("this is newer, %s; the newest release is %s", answer.Current, answer.Newest)
		return
	}
	if answer.URL != "" {
		a.say("what is in it: %s", answer.URL)
	}
}
