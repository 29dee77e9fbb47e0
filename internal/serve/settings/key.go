package settings

import (
	"slices"
	"strings"
)

// A key is one setting, and all that is known of it. The file, the flags, the environment,
// what --check prints and compares, the completion of the shell and the tables of
// docs/reference/settings.md come from here.
type key struct {
	name string // in the file
	def  string // the default, as text; "" if there is none
	value
	// restart says that a new value needs a restart. Any other is used at a reload.
	restart bool

	// doc says in a sentence what the setting is: Markdown, without the capital letter and
	// the full stop. shown stands in place of a default that is not a text.
	doc, shown string

	// arg is what stands for the value in the help of the flag. Without it, no flag sets the
	// setting, unless it is true or false. help is for the terminal; if empty, it is doc.
	arg, help string
	short     string // the flag in one letter
	variable  string // of the environment, if it is not the flag's name
	// colons says that the items of a list have colons between them in the variable, as in
	// PATH, not commas.
	colons bool
	// global says that the flag is one of all commands, which declare it themselves.
	global bool
}

// byPath returns the keys of the file, except those of tokens, upstreams and routes, by
// their paths.
func (s *Settings) byPath() map[string]key {
	all := map[string]key{}
	for _, k := range s.keys() {
		all[k.name] = k
	}
	for _, k := range s.limitKeys() {
		all["limits."+k.name] = k
	}
	return all
}

// everyKey returns the keys of the file, those of each token, upstream and route included.
func (s *Settings) everyKey() []key {
	all := slices.Concat(s.keys(), s.limitKeys())
	for i := range s.tokens {
		all = append(all, tokenKeys(&s.tokens[i])...)
	}
	for i := range s.Upstreams {
		all = append(all, upstreamKeys(&s.Upstreams[i])...)
	}
	for i := range s.Gateway.Routes {
		all = append(all, routeKeys(&s.Gateway.Routes[i], &s.guards[i])...)
	}
	return all
}

// secretOf returns the secret that is in the file that a key names.
func (k key) secretOf() (*secret, bool) {
	t, is := k.field.(*secret)
	return t, is
}

// secretName is the name of a secret, by the key that names its file.
func secretName(key string) string { return strings.TrimSuffix(key, "-file") }

// secretVariable is the environment variable that holds the secret itself.
func secretVariable(key string) string { return variableOf(secretName(key)) }

// variableOf is the environment variable of a flag, or of a secret.
func variableOf(name string) string {
	return "SOTTO_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// topNames are the keys at the top of the file, in the order of the guide.
func (s *Settings) topNames() []string {
	return slices.Concat([]string{"v"}, names(s.keys()), []string{"tokens", "upstreams", "limits", "routes"})
}

// find returns the key with a name.
func find(keys []key, name string) (key, bool) {
	i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
	if i < 0 {
		return key{}, false
	}
	return keys[i], true
}

// names returns the keys' names.
func names(keys []key) []string {
	var list []string
	for _, k := range keys {
		list = append(list, k.name)
	}
	return list
}

// wordsOf are the values of a setting that has only a few.
func wordsOf[T ~string](all []T) []string {
	list := make([]string, len(all))
	for i, w := range all {
		list[i] = string(w)
	}
	return list
}

// anyOf lists the values: "a, b or c".
func anyOf[T ~string](all []T) string {
	list := wordsOf(all)
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}
