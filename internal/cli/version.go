package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/cli/shell"
)

type versionCommand struct{}

// Help shows examples.
func (versionCommand) Help() string {
	return "Example:\n\n    sotto version"
}

// Run prints what the build knows about itself.
func (versionCommand) Run(sh *shell.Shell) error {
	info, _ := debug.ReadBuildInfo()
	_, err := fmt.Fprintln(sh.Out, versionLine(info))
	return err
}

// A versionFlag prints the version instead of running a command.
type versionFlag bool

// BeforeReset prints the version before the rest of the line is parsed.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	info, _ := debug.ReadBuildInfo()
	status := shell.StatusDone
	if _, err := fmt.Fprintln(app.Stdout, versionLine(info)); err != nil {
		fmt.Fprintf(app.Stderr, "sotto: error: %v\n", err)
		status = shell.StatusFailed
	}
	app.Exit(status)
	return nil
}

// versionLine returns version, revision, compiler and platform on one line.
func versionLine(info *debug.BuildInfo) string {
	setting := map[string]string{}
	if info != nil {
		for _, s := range info.Settings {
			setting[s.Key] = s.Value
		}
	}
	parts := []string{"sotto " + buildOf(info)}
	if at := setting["vcs.time"]; at != "" {
		parts = append(parts, at)
	}
	parts = append(parts, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
	return strings.Join(parts, ", ")
}

// buildOf returns version and revision.
func buildOf(info *debug.BuildInfo) string {
	version, revision, modified := "(devel)", "", ""
	if info != nil {
		if info.Main.Version != "" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = ", revision " + s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = ", modified"
			}
		}
	}
	return version + revision + modified
}
