package benchset

import (
	"cmp"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// recipe says how a set is made from its files.
type recipe struct {
	name string
	task Task

	files     []file
	header    string // the header line, for files that have none but whose columns have names
	noHeader  bool   // columns are x0, x1, …
	delimiter byte   // 0 is a comma

	target     string
	divisor    float64           // of a regression target; 0 is 1
	classes    map[string]string // the file's labels → c0, c1, …
	drop       []string          // leaks and row identifiers
	categories []string          // inputs that are labels; all others are numbers
	leave      []string          // inputs that only tell which rows count
	fill       bool              // missing numbers are the column's median

	keep    func(inputs []*table.Column, row int) bool // which rows of the file count; nil is all
	missing func(column string, value float64) bool    // which numbers mean that the value is not known; nil is none
}

// file is one of the files of a set; several are read one after the other.
type file struct {
	path string // below the data directory
	skip int    // lines to leave out at its start
}

// recipes returns the sets, regression first, then two classes, then more.
func recipes() []recipe {
	return []recipe{
		california(), bike(), med(), pksn(), casp(), gas(),
		adult(), fico(), spam(), support2(), physionet2012(), german(), wdbc(),
		dryBean(),
	}
}

func california() recipe {
	return recipe{
		name: "california", task: Regression,
		files:  []file{{path: "california_housing/cal_housing.csv.gz"}},
		target: "median_house_value", divisor: 100_000,
	}
}

// bike leaves out casual and registered, which add up to the target, and the row number and date.
func bike() recipe {
	return recipe{
		name: "bike", task: Regression,
		files:  []file{{path: "bike/hour.csv.gz"}},
		target: "cnt",
		drop:   []string{"instant", "dteday", "casual", "registered"},
	}
}

func med() recipe {
	return recipe{
		name: "med", task: Regression,
		files:  []file{{path: "medical/insurance.csv"}},
		target: "charges", divisor: 10_000,
		categories: []string{"sex", "smoker", "region"},
	}
}

// pksn leaves out the other score of the same examination and the patient's number.
func pksn() recipe {
	return recipe{
		name: "pksn", task: Regression,
		files:  []file{{path: "parkinsons/parkinsons_updrs.data.gz"}},
		target: "motor_UPDRS",
		drop:   []string{"total_UPDRS", "subject#"},
	}
}

func casp() recipe {
	return recipe{
		name: "casp", task: Regression,
		files:  []file{{path: "protein_casp/casp.csv.gz"}},
		target: "RMSD",
	}
}

func gas() recipe {
	return recipe{
		name: "gas", task: Regression,
		files:    []file{{path: "gas/gas_data.csv.gz"}},
		noHeader: true,
		target:   "x128",
	}
}

// adult leaves out the sampling weight fnlwgt and education, which education-num repeats.
func adult() recipe {
	return recipe{
		name: "adult", task: Binary,
		files: []file{{path: "adult/adult.data.gz"}, {path: "adult/adult.test.gz", skip: 1}},
		header: "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex," +
			"capital-gain,capital-loss,hours-per-week,native-country,income",
		target:     "income",
		classes:    map[string]string{"<=50K": "c0", "<=50K.": "c0", ">50K": "c1", ">50K.": "c1"},
		drop:       []string{"fnlwgt", "education"},
		categories: []string{"workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country"},
	}
}

// fico counts the codes −9 (no record), −8 (no usable trades) and −7 (condition not met) as missing, and leaves out the
// applicants of whom nothing at all is on record.
func fico() recipe {
	const noRecord = -9
	return recipe{
		name: "fico", task: Binary,
		files:   []file{{path: "heloc/heloc_dataset_v1.csv.gz"}},
		target:  "RiskPerformance",
		classes: map[string]string{"Good": "c0", "Bad": "c1"},
		keep: func(inputs []*table.Column, row int) bool {
			return slices.ContainsFunc(inputs, func(c *table.Column) bool { return c.Numbers[row] != noRecord })
		},
		missing: func(_ string, value float64) bool { return value < 0 },
	}
}

func spam() recipe {
	return recipe{
		name: "spam", task: Binary,
		files:    []file{{path: "spambase/spambase.data.gz"}},
		noHeader: true,
		target:   "x57",
		classes:  map[string]string{"0": "c0", "1": "c1"},
	}
}

// support2 leaves out what is known only after the stay (its length and cost, the follow-up, later orders) and the
// scores and estimates of survival that others made from the same record.
func support2() recipe {
	return recipe{
		name: "support2", task: Binary,
		files:   []file{{path: "support2/support2.csv.gz"}},
		target:  "hospdead",
		classes: map[string]string{"0": "c0", "1": "c1"},
		drop: []string{
			"id", "death", "d.time", "slos", "charges", "totcst", "totmcst", "avtisst", "sfdm2", "dnr", "dnrday",
			"adlsc", "adlp", "adls", "surv2m", "surv6m", "aps", "sps", "prg2m", "prg6m",
		},
		categories: []string{"sex", "dzgroup", "dzclass", "income", "race", "ca"},
	}
}

// physionet2012 joins sets a and b. Two of its scores write −1 for missing; elsewhere −1 would be a value.
func physionet2012() recipe {
	return recipe{
		name: "physionet2012", task: Binary,
		files: []file{
			{path: "physionet2012/PhysionetChallenge2012-set-a.csv.gz"},
			{path: "physionet2012/PhysionetChallenge2012-set-b.csv.gz", skip: 1},
		},
		target:  "In-hospital_death",
		classes: map[string]string{"0": "c0", "1": "c1"},
		drop:    []string{"recordid", "Length_of_stay", "Survival"},
		missing: func(column string, value float64) bool {
			return value == -1 && (column == "SAPS-I" || column == "SOFA")
		},
	}
}

func german() recipe {
	return recipe{
		name: "german", task: Binary,
		files:      []file{{path: "german_credit/german.data"}},
		noHeader:   true,
		delimiter:  ' ',
		target:     "x20",
		classes:    map[string]string{"1": "c0", "2": "c1"}, // 2 is a bad risk
		categories: []string{"x0", "x2", "x3", "x5", "x6", "x8", "x9", "x11", "x13", "x14", "x16", "x18", "x19"},
	}
}

func wdbc() recipe {
	return recipe{
		name: "wdbc", task: Binary,
		files:   []file{{path: "breast_cancer/wdbc.csv"}},
		target:  "diagnosis",
		classes: map[string]string{"B": "c0", "M": "c1"},
		drop:    []string{"id"},
	}
}

func dryBean() recipe {
	return recipe{
		name: "dry_bean", task: Multiclass,
		files:  []file{{path: "dry_bean/dry_bean.csv.gz"}},
		target: "Class",
		classes: map[string]string{
			"BARBUNYA": "c0", "BOMBAY": "c1", "CALI": "c2", "DERMASON": "c3", "HOROZ": "c4", "SEKER": "c5", "SIRA": "c6",
		},
	}
}

// PaperNames returns the names of the sets in the form in which the paper seems to have used them, leaks included. Load
// knows them; Names does not, for nobody should be measured by them.
func PaperNames() []string { return namesOf(paperRecipes()) }

func paperRecipes() []recipe {
	return []recipe{pksnPaper(), pksnMotorPaper(), bikePaper(), ficoPaper(), ficoBadPaper(), censPaper(), censAllPaper()}
}

// pksnPaper has the patient's number, and so rows of one patient on both sides, and the target in standard deviations.
func pksnPaper() recipe {
	return recipe{
		name: "pksn-paper", task: Regression,
		files:    []file{{path: "uci_datasets_prepared/parkinsons_data.csv.gz"}},
		noHeader: true,
		target:   "x20", divisor: 10.699366,
	}
}

// pksnMotorPaper predicts what the paper's text names, the other score of the examination, from the same columns.
func pksnMotorPaper() recipe {
	r := pksn()
	r.name, r.drop, r.divisor = "pksn-motor-paper", []string{"total_UPDRS"}, 8.129282
	return r
}

// bikePaper has the casual and the registered riders, who add up to the target, whose logarithm is to be predicted.
func bikePaper() recipe {
	return recipe{
		name: "bike-paper", task: Regression,
		files:    []file{{path: "uci_datasets_prepared/bike_data.csv.gz"}},
		noHeader: true,
		target:   "x17",
	}
}

// ficoPaper leaves out a score that others made and the applicants without it, and has the median for what is missing.
func ficoPaper() recipe {
	r := fico()
	noScore := r.missing
	r.name = "fico-paper"
	r.classes = map[string]string{"Bad": "c0", "Good": "c1"}
	r.leave = []string{"ExternalRiskEstimate"}
	r.keep = func(inputs []*table.Column, row int) bool {
		return !slices.ContainsFunc(inputs, func(c *table.Column) bool {
			return c.Name == "ExternalRiskEstimate" && noScore(c.Name, c.Numbers[row])
		})
	}
	r.fill = true
	return r
}

// ficoBadPaper asks for the other class.
func ficoBadPaper() recipe {
	r := ficoPaper()
	r.name, r.classes = "fico-bad-paper", fico().classes
	return r
}

// censPaper is the first of adult's two files, all columns of it.
func censPaper() recipe {
	r := adult()
	r.name, r.files, r.drop = "cens-paper", r.files[:1], nil
	r.categories = append(slices.Clone(r.categories), "education")
	return r
}

// censAllPaper is both files: the 48,842 rows that the paper's text names.
func censAllPaper() recipe {
	r := censPaper()
	r.name, r.files = "cens-all-paper", adult().files
	return r
}

// filled returns the column with its median where it is missing.
func filled(c *table.Column) *table.Column {
	if c.Kind != table.Number || !slices.Contains(c.Observed, false) {
		return c
	}
	var known []float64
	for row, value := range c.Numbers {
		if c.Observed[row] {
			known = append(known, value)
		}
	}
	slices.SortFunc(known, cmp.Compare[float64])
	values := slices.Clone(c.Numbers)
	for row := range values {
		if !c.Observed[row] {
			values[row] = known[len(known)/2]
		}
	}
	return table.NumberColumn(c.Name, values, nil)
}
