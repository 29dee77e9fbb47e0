package main

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// A settingRow describes a key of the configuration file, in Markdown as in the guide.
type settingRow struct{ key, def, flag, variable, meaning string }

// tableHeads are those of the tables of settings in the guide: for the keys at the top, and
// for those under tokens, limits, upstreams and routes. A test of internal/serve/settings holds
// them to the keys that exist.
var tableHeads = []string{
	"| key | default | flag | environment | meaning |",
	"| key | default | meaning |",
	"| key | default | bounds |",
	"| key | default | what |",
}

// settingRows reads the tables of the guide. The one for the keys at the top comes first.
func settingRows(guide string) ([]settingRow, error) {
	for _, head := range tableHeads {
		if !strings.Contains(guide, head+"\n") {
			return nil, errors.New("the guide has no table " + head)
		}
	}
	var top, rows []settingRow
	inside := false
	for line := range strings.Lines(guide) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || slices.Contains(tableHeads, line) {
			inside = strings.HasPrefix(line, "|")
			continue
		}
		if !inside {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case strings.HasPrefix(cells[0], "---"):
		case len(cells) == 5:
			top = append(top, settingRow{cells[0], cells[1], cells[2], cells[3], cells[4]})
		case len(cells) == 3:
			rows = append(rows, settingRow{key: cells[0], def: cells[1], meaning: cells[2]})
		default:
			return nil, errors.New("the guide has a row of another form: " + line)
		}
	}
	return append(top, rows...), nil
}

const configurationText = `The configuration file of the gateway, in YAML. sotto serve reads the file that --config or $SOTTO_CONFIG names; the package for Linux runs it with /etc/sotto/sotto.yaml. A flag takes precedence over the environment, the environment over the file, and the file over the default.

sotto serve --check reads the file, reports every fault with its line and column, and prints the settings that result. sotto init writes a file for the model server that it finds. The guide is reference/settings.md in /usr/share/doc/sotto.

Unknown keys, repeated keys, keys without a value, wrong types, anchors, aliases and tags are faults. Paths are relative to the folder of the file. Durations are written 30s, 10m, 1h30m; sizes are bytes, or have one of the units B, kB, MB, GB, KiB, MiB, GiB.`

const configurationExample = `    listen: 127.0.0.1:8383
    upstream: http://localhost:11434
    routes:
      - models: ["qwen3*"]
        display: hide
    limits:
      body: 16MiB`

// configuration returns the page of the configuration file.
func (e edition) configuration(rows []settingRow) string {
	p := e.begin("sotto.yaml", 5, "configuration of sotto serve")
	p.section("DESCRIPTION")
	p.prose(configurationText)
	p.section("KEYS")
	p.line("A name such as limits.body is a key of the mapping limits; tokens.NAME.scopes is one of each name in the mapping tokens; routes[].models is one of each entry of the list routes.")
	for _, row := range rows {
		p.term(bold(plain(row.key)), sentence(plain(row.meaning)))
		if row.def != "" {
			p.line("Default: " + plain(row.def) + ".")
		}
		if row.flag != "" {
			p.line("Flag: " + plain(row.flag) + ".")
		}
		if row.variable != "" {
			p.line("Environment: " + plain(row.variable) + ".")
		}
	}
	p.section("FILES")
	p.term(italic("/etc/sotto/sotto.yaml"), "The file of the service.")
	p.term(italic("/etc/sotto/environment"), "Secrets of the service, such as SOTTO_TOKEN=TEXT. Keep it readable for root only.")
	p.section("EXAMPLES")
	p.literal(configurationExample)
	p.section("SEE ALSO")
	p.WriteString(bold("sotto-serve") + "(1),\n" + bold("sotto-init") + "(1)\n")
	return p.String()
}

var link = regexp.MustCompile(`\[([^]]+)\]\([^)]+\)`)

// plain takes the marks of Markdown out of a text. Lists of code keep their commas.
func plain(s string) string {
	s = link.ReplaceAllString(s, "$1")
	return strings.ReplaceAll(s, "`", "")
}

// sentence gives a meaning a capital and a full stop.
func sentence(s string) string {
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".") + "."
}
