package answer

import "strings"

// units maps the names of units to the names used for comparison. A word that is
// not in the table is compared as it is written, without its plural.
var units = unitTable(`
	millimeter mm millimeters millimetre millimetres
	centimeter cm centimeters centimetre centimetres
	meter meters metre metres
	kilometer km kilometers kilometre kilometres
	inch in inches
	foot ft feet
	yard yd yards
	mile mi miles
	milligram mg milligrams
	gram grams gm
	kilogram kg kilograms kgs
	pound lb lbs pounds
	ounce oz ounces
	milliliter ml mL milliliters millilitre millilitres
	liter liters litre litres
	second sec secs seconds
	minute min mins minutes
	hour hr hrs hours
	day days
	mph
	degree degrees deg ° ^{\circ}
	percent %
	dollar dollars $ USD
	cent cents
	euro euros € EUR
	£
	unit units
	people person
	child children
`)

// singleUnits are symbols that count as units only if they are marked as text,
// because they also name variables.
var singleUnits = map[string]string{"m": "meter", "g": "gram", "s": "second", "h": "hour", "l": "liter", "L": "liter"}

func unitTable(list string) map[string]string {
	table := map[string]string{}
	for _, line := range strings.Split(list, "\n") {
		names := strings.Fields(line)
		for _, name := range names {
			table[name] = names[0]
		}
	}
	return table
}

// unitPowers are words before a unit that raise it to a power.
var unitPowers = map[string]string{"square": "^2", "sq": "^2", "sq.": "^2", "cubic": "^3", "cu": "^3", "cu.": "^3"}

// unitName returns the name by which a unit is compared: "square feet" is "foot^2".
func unitName(s string) string {
	s, power, _ := strings.Cut(s, "^")
	if power != "" {
		power = "^" + strings.Trim(power, "{}")
	}
	words := strings.Fields(s)
	if len(words) > 1 && unitPowers[words[0]] != "" {
		power = unitPowers[words[0]]
		words = words[1:]
	}
	for i, w := range words {
		switch {
		case units[w] != "":
			words[i] = units[w]
		case singleUnits[w] != "":
			words[i] = singleUnits[w]
		case units[strings.ToLower(w)] != "":
			words[i] = units[strings.ToLower(w)]
		default:
			words[i] = strings.TrimSuffix(strings.ToLower(w), "s")
		}
	}
	return strings.Join(words, " ") + power
}

// cutUnit separates a value and its unit. The unit may be a currency before the
// value; or, after it, a sign, a unit of the table or words marked as text. A
// percent sign is a unit: 25% is 25, since the question asked for percent, and
// never 0.25.
func cutUnit(s string) (value, unit string) {
	for _, sign := range []string{"$", "€", "£"} {
		if rest, ok := strings.CutPrefix(s, sign); ok && rest != "" {
			return rest, unitName(sign)
		}
		if rest, ok := strings.CutPrefix(s, "-"+sign); ok && rest != "" {
			return "-" + rest, unitName(sign)
		}
	}
	for _, sign := range []string{"%", "°", "€", "$"} {
		if rest, ok := strings.CutSuffix(s, sign); ok && rest != "" {
			return rest, unitName(sign)
		}
	}
	if i := strings.Index(s, `\text{`); i > 0 {
		words, power, _ := strings.Cut(s[i+len(`\text{`):], "}")
		if power != "" && !isPower(power) {
			return s, ""
		}
		return strings.TrimSpace(s[:i]), unitName(words + power)
	}
	return cutPlainUnit(s)
}

func isPower(s string) bool {
	s = strings.TrimPrefix(s, "^")
	return s == "2" || s == "3" || s == "{2}" || s == "{3}"
}

// cutPlainUnit separates the unit in 5cm^2.
func cutPlainUnit(s string) (value, unit string) {
	body, power := s, ""
	if i := strings.LastIndexByte(s, '^'); i > 0 && isPower(s[i:]) {
		body, power = s[:i], s[i:]
	}
	n := len(body)
	for n > 0 && isLetter(body[n-1]) {
		n--
	}
	if n == 0 || !isDigit(body[n-1]) || units[body[n:]] == "" {
		return s, ""
	}
	return body[:n], unitName(body[n:] + power)
}
