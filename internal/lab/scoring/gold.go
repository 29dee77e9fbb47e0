package scoring

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
)

// A Choices holds the options of a question, and the labels that a gold may name
// them by. Without labels, they are A, B, C …
type Choices struct{ Texts, Labels []string }

// goldKinds says how the right answers of a task are written, by its name. Those of
// a task that is missing here have a form of their own, such as JSON.
var goldKinds = map[string]goldKind{
	"math": goldSolution, "number": goldSolution, "gsm8k": goldSolution, "mgsm": goldSolution,
	"choice": goldChoice, "yesno": goldYesNo, "qa": goldText, "exact": goldText,
}

type goldKind uint8

const (
	goldOwn      goldKind = iota
	goldText              // a text as it is
	goldSolution          // may be a solution that ends with the answer
	goldChoice            // names options
	goldYesNo
)

// maxGolds bounds the right answers to one question.
const maxGolds = 1000

// Golds reads the right answers to a question, as data sets have them: a text, a
// number, a list of texts that are all right, or an object such as
// {"text": […]}. For a choice a number is the index of an option, from 0, and a
// list has letters that belong together. A solution is read for its answer.
func Golds(t answer.Task, value []byte, c Choices) ([]string, error) {
	if value == nil || value[0] == 'n' {
		return nil, nil
	}
	kind := goldKinds[t.Name()]
	if kind == goldOwn {
		return []string{jsonpath.TextOr(value, "")}, nil
	}
	texts, err := goldTexts(value)
	if err != nil {
		return nil, err
	}
	if len(texts) == 0 || len(texts) > maxGolds {
		return nil, fmt.Errorf("%d right answers: want 1 to %d", len(texts), maxGolds)
	}
	if kind == goldChoice {
		letters, err := choiceGold(texts, value[0], c)
		return []string{letters}, err
	}
	for i, text := range texts {
		if texts[i], err = oneGold(kind, text); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// goldMembers are the members of an object that hold right answers. All that an
// object has are right.
var goldMembers = []string{"text", "value", "aliases", "answer", "answers"}

// goldTexts returns the texts of a gold: of a scalar, a list or an object.
func goldTexts(value []byte) ([]string, error) {
	switch value[0] {
	case '[':
		return jsonpath.Elements(value)
	case '{':
		return goldObject(value)
	}
	return []string{jsonpath.TextOr(value, "")}, nil
}

func goldObject(value []byte) (texts []string, err error) {
	for _, name := range goldMembers {
		member, err := memberOf(value, name)
		if err != nil {
			return nil, err
		}
		if member == nil || member[0] == '{' {
			continue
		}
		more, err := goldTexts(member)
		if err != nil {
			return nil, err
		}
		texts = append(texts, more...)
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("an object without %s: want the path of the answer in it, such as --gold-field answers.text", strings.Join(goldMembers, ", "))
	}
	return texts, nil
}

// memberOf returns the member of an object, or nil.
func memberOf(object []byte, name string) ([]byte, error) {
	steps, err := jsonpath.Parse(name)
	if err != nil {
		return nil, err
	}
	var f jsonpath.Finder
	if err := f.Find(object, steps); err != nil {
		return nil, err
	}
	return f.Last(0), nil
}

// oneGold reads one text of a task that is not a choice.
func oneGold(kind goldKind, text string) (string, error) {
	switch {
	case text != "" && (text[0] == '{' || text[0] == '[') && strings.HasPrefix(strings.TrimLeft(text[1:], "[{ "), `"`):
		return "", fmt.Errorf("%s is not a text or a number", shorttext.Ellipsis(text, maxShown))
	case kind == goldYesNo && text == "1":
		return "yes", nil
	case kind == goldYesNo && text == "0":
		return "no", nil
	case kind == goldSolution:
		return statedAnswer(text)
	}
	return text, nil
}

// maxShown bounds the text of a gold in an error, in bytes.
const maxShown = 80

// statedAnswer returns the answer of a solution: what follows the last "####", or
// the contents of the last box. A text of one line is an answer itself.
func statedAnswer(text string) (string, error) {
	if i := strings.LastIndex(text, "####"); i >= 0 {
		line, _, _ := strings.Cut(strings.TrimSpace(text[i+len("####"):]), "\n")
		if line = strings.TrimSpace(line); line == "" {
			return "", fmt.Errorf("nothing follows #### in the solution")
		}
		return line, nil
	}
	if strings.Contains(text, `\boxed`) || strings.Contains(text, `\fbox`) {
		x := answer.Extract(answer.Math, text, answer.Problem{}, answer.Options{})
		// A reply may lack the last brace, but a dataset that does has lost more than that.
		if x.Method != "boxed" || x.Span == nil || !strings.HasPrefix(strings.TrimSpace(text[x.Span.End:]), "}") {
			return "", fmt.Errorf("the box of the solution is empty or not closed")
		}
		return x.Written, nil
	}
	if lines := strings.Split(strings.TrimSpace(text), "\n"); len(lines) > 1 && !strings.Contains(text, `\begin`) {
		return "", fmt.Errorf(`a solution of %d lines without \boxed{} or ####`, len(lines))
	}
	return text, nil
}

// choiceGold returns the letters of the options that are right together. A number is
// an index from 0, and so are digits in a text that is not itself an option.
func choiceGold(texts []string, first byte, c Choices) (string, error) {
	var letters []string
	for _, text := range texts {
		letter, err := choiceLetter(text, first != '"', c)
		switch {
		case err != nil:
			return "", err
		case len(texts) > 1 && len(letter) != 1:
			return "", fmt.Errorf("%q in a list is not an option", shorttext.Ellipsis(text, maxShown))
		}
		letters = append(letters, letter)
	}
	slices.Sort(letters)
	return strings.Join(slices.Compact(letters), ", "), nil
}

// maxOptions is how many letters there are.
const maxOptions = 26

func choiceLetter(text string, number bool, c Choices) (string, error) {
	text = strings.TrimSpace(text)
	if i := slices.Index(c.Labels, text); i >= 0 && i < maxOptions {
		return letterOf(i), nil
	}
	if i := slices.Index(c.Texts, text); i >= 0 && i < maxOptions {
		return letterOf(i), nil
	}
	if text == "" {
		return "", fmt.Errorf("the right option is missing")
	}
	index, err := strconv.Atoi(text)
	if err != nil {
		return apart(text, c), nil
	}
	last := len(c.Texts) - 1
	if last < 0 {
		if !number {
			return text, nil // a text, as there are no options to count
		}
		last = maxOptions - 1
	}
	if index < 0 || index > min(last, maxOptions-1) {
		return "", fmt.Errorf("%d is not the index of an option: want 0 to %d", index, last)
	}
	return letterOf(index), nil
}

func letterOf(i int) string { return string(rune('A' + i)) }

// apart writes the letters of several options, such as ABD, as a list. Their order
// tells them from a word.
func apart(text string, c Choices) string {
	last := byte('J')
	if n := len(c.Texts); n > 0 {
		last = byte('A' + min(n, maxOptions) - 1)
	}
	if len(text) < 2 {
		return text
	}
	for i := range len(text) {
		if text[i] < 'A' || text[i] > last || i > 0 && text[i] <= text[i-1] {
			return text
		}
	}
	return strings.Join(strings.Split(text, ""), ", ")
}

// ReadChoices reads options: a list of texts, a list of objects with a label and a
// text, an object of texts by label, or an object of two lists, text and label.
func ReadChoices(value []byte) (c Choices, err error) {
	if value == nil || value[0] == 'n' {
		return Choices{}, nil
	}
	switch value[0] {
	case '[':
		c, err = listedChoices(value)
	case '{':
		c, err = namedChoices(value)
	default:
		return Choices{}, fmt.Errorf("not a list or an object of options")
	}
	if err == nil && len(c.Labels) > 0 && len(c.Labels) != len(c.Texts) {
		err = fmt.Errorf("%d labels for %d options", len(c.Labels), len(c.Texts))
	}
	return c, err
}

// The members of an option that is an object, by their usual names.
var (
	optionTexts  = []string{"text", "value", "content", "option", "answer"}
	optionLabels = []string{"label", "key", "id", "letter"}
)

func listedChoices(list []byte) (c Choices, err error) {
	texts, err := jsonpath.Elements(list)
	if err != nil || len(texts) == 0 || !strings.HasPrefix(texts[0], "{") {
		return Choices{Texts: texts}, err
	}
	for i, object := range texts {
		text, err := firstMember([]byte(object), optionTexts)
		if err != nil {
			return Choices{}, err
		}
		if text == nil {
			return Choices{}, fmt.Errorf("option %d is an object without %s", i, strings.Join(optionTexts, ", "))
		}
		c.Texts = append(c.Texts, jsonpath.TextOr(text, ""))
		label, err := firstMember([]byte(object), optionLabels)
		if err != nil {
			return Choices{}, err
		}
		if label != nil {
			c.Labels = append(c.Labels, jsonpath.TextOr(label, ""))
		}
	}
	return c, nil
}

func firstMember(object []byte, names []string) ([]byte, error) {
	if object[0] != '{' {
		return nil, nil
	}
	for _, name := range names {
		if member, err := memberOf(object, name); member != nil || err != nil {
			return member, err
		}
	}
	return nil, nil
}

func namedChoices(object []byte) (c Choices, err error) {
	texts, err := memberOf(object, "text")
	if err != nil {
		return Choices{}, err
	}
	labels, err := memberOf(object, "label")
	if err != nil {
		return Choices{}, err
	}
	if len(texts) > 0 && texts[0] == '[' {
		if c.Texts, err = jsonpath.Elements(texts); err != nil || labels == nil || labels[0] != '[' {
			return c, err
		}
		c.Labels, err = jsonpath.Elements(labels)
		return c, err
	}
	for _, labels := range optionSeries {
		if c, err := labelledChoices(object, labels); err != nil || len(c.Texts) > 0 {
			return c, err
		}
	}
	return Choices{}, fmt.Errorf("an object without options: want the labels A, a, 1 or 0 and those after them, or the lists text and label")
}

// optionSeries are the labels of options, as the members of an object.
var optionSeries = [][]string{
	strings.Split("ABCDEFGHIJKLMNOPQRSTUVWXYZ", ""), strings.Split("abcdefghijklmnopqrstuvwxyz", ""),
	strings.Fields("0 1 2 3 4 5 6 7 8 9"), strings.Fields("1 2 3 4 5 6 7 8 9 10"),
}

func labelledChoices(object []byte, labels []string) (c Choices, err error) {
	for _, label := range labels {
		text, err := memberOf(object, label)
		if err != nil {
			return Choices{}, err
		}
		if text == nil {
			break
		}
		c.Labels, c.Texts = append(c.Labels, label), append(c.Texts, jsonpath.TextOr(text, ""))
	}
	return c, nil
}
