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
	version, setting := "(devel)", map[string]string{}
	if info != nil {
		if info.Main.Version != "" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			setting[s.Key] = s.Value
		}
	}
	parts := []string{"sotto " + version}
	if revision := setting["vcs.revision"]; revision != "" {
		parts = append(parts, "revision "+revision[:min(12, len(revision))])
	}
	if setting["vcs.modified"] == "true" {
		parts = append(parts, "modified")
	}
	if at := setting["vcs.time"]; at != "" {
		parts = append(parts, at)
	}
	parts = append(parts, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
	return strings.Join(parts, ", ")
}
