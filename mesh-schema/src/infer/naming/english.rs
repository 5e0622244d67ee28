//! English singular and plural: rules for endings, and lists of exceptions.

/// Words whose plural equals the singular, or that have no plural.
const INVARIANT_WORDS: [&str; 44] = [
    "aircraft",
    "analytics",
    "audio",
    "aws",
    "chaos",
    "chassis",
    "css",
    "data",
    "deer",
    "dns",
    "economics",
    "equipment",
    "feedback",
    "fish",
    "furniture",
    "gps",
    "headquarters",
    "hardware",
    "https",
    "information",
    "js",
    "kudos",
    "logistics",
    "mathematics",
    "media",
    "metadata",
    "money",
    "music",
    "news",
    "os",
    "physics",
    "police",
    "politics",
    "pos",
    "rice",
    "series",
    "sheep",
    "sms",
    "software",
    "species",
    "staff",
    "stuff",
    "tls",
    "weather",
];

/// Singular and plural of irregular words.
const IRREGULAR_WORDS: [(&str, &str); 41] = [
    ("person", "people"),
    ("child", "children"),
    ("man", "men"),
    ("woman", "women"),
    ("mouse", "mice"),
    ("goose", "geese"),
    ("foot", "feet"),
    ("tooth", "teeth"),
    ("ox", "oxen"),
    ("index", "indexes"),
    ("index", "indices"),
    ("matrix", "matrices"),
    ("vertex", "vertices"),
    ("appendix", "appendices"),
    ("criterion", "criteria"),
    ("phenomenon", "phenomena"),
    ("axis", "axes"),
    ("crisis", "crises"),
    ("thesis", "theses"),
    ("hypothesis", "hypotheses"),
    ("diagnosis", "diagnoses"),
    ("oasis", "oases"),
    ("basis", "bases"),
    ("quiz", "quizzes"),
    ("leaf", "leaves"),
    ("life", "lives"),
    ("wife", "wives"),
    ("knife", "knives"),
    ("shelf", "shelves"),
    ("half", "halves"),
    ("wolf", "wolves"),
    ("loaf", "loaves"),
    ("thief", "thieves"),
    ("calf", "calves"),
    ("elf", "elves"),
    ("scarf", "scarves"),
    ("hero", "heroes"),
    ("potato", "potatoes"),
    ("tomato", "tomatoes"),
    ("echo", "echoes"),
    ("veto", "vetoes"),
];

/// Singular words that end in `s`, but not in `ss`, `us` or `is`.
const SINGULARS_IN_S: [&str; 13] = [
    "alias",
    "atlas",
    "bias",
    "canvas",
    "christmas",
    "cosmos",
    "gas",
    "lens",
    "pancreas",
    "pathos",
    "texas",
    "thermos",
    "ethos",
];

/// Words that end in `u` and `i`, whose plurals look like singulars in `us` and `is`.
const WORDS_IN_VOWEL: [&str; 14] = [
    "menu", "guru", "emu", "gnu", "tofu", "gpu", "cpu", "sku", "bureau", "plateau", "taxi", "ski", "wiki",
    "api",
];

/// Words that end in `ie`, whose plurals look like those of words in `y`.
const WORDS_IN_IE: [&str; 20] = [
    "movie", "cookie", "zombie", "calorie", "selfie", "pie", "tie", "die", "lie", "prairie", "genie",
    "rookie", "brownie", "smoothie", "hoodie", "birdie", "indie", "newbie", "budgie", "necktie",
];

/// Words that end in `che` and `xe`, whose plurals look like those of words in `ch` and `x`.
const WORDS_IN_CHE: [&str; 11] = [
    "cache",
    "ache",
    "headache",
    "toothache",
    "niche",
    "avalanche",
    "psyche",
    "creche",
    "brioche",
    "axe",
    "deluxe",
];

/// Words that end in `use`, whose plurals look like those of words in `us`.
const WORDS_IN_USE: [&str; 8] = ["use", "excuse", "fuse", "muse", "abuse", "reuse", "accuse", "recluse"];

/// First parts of words that end in `man`, with the plural in `men`.
const PREFIXES_OF_MAN: [&str; 8] = ["sales", "work", "fire", "police", "chair", "crafts", "fresh", "gentle"];

/// Returns the singular of a lower-case word. Unknown words and singulars are returned unchanged.
pub(crate) fn singular(word: &str) -> String {
    if INVARIANT_WORDS.contains(&word) || SINGULARS_IN_S.contains(&word) {
        return word.to_owned();
    }
    if let Some((one, _)) = IRREGULAR_WORDS.iter().find(|(_, many)| *many == word) {
        return (*one).to_owned();
    }
    if let Some(stem) = word.strip_suffix("women") {
        return format!("{stem}woman");
    }
    if let Some(stem) = word.strip_suffix("men").filter(|stem| stem.len() > 2 && word != "specimen") {
        return if PREFIXES_OF_MAN.contains(&stem) { format!("{stem}man") } else { word.to_owned() };
    }
    let Some(stem) = word.strip_suffix('s') else { return word.to_owned() };
    if stem.chars().count() < 2 || IRREGULAR_WORDS.iter().any(|(one, _)| *one == word) {
        return word.to_owned();
    }
    if WORDS_IN_VOWEL.contains(&stem)
        || WORDS_IN_IE.contains(&stem)
        || WORDS_IN_CHE.contains(&stem)
        || WORDS_IN_USE.contains(&stem)
    {
        return stem.to_owned();
    }
    if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        return word.to_owned();
    }
    singular_of_es(word).unwrap_or_else(|| stem.to_owned())
}

/// Returns the singular of a word that ends in `es`; `None` if the singular is the word without the `s`.
fn singular_of_es(word: &str) -> Option<String> {
    let stem = word.strip_suffix("es")?;
    if let Some(stem) = stem.strip_suffix('i').filter(|stem| stem.chars().count() > 1) {
        return Some(format!("{stem}y"));
    }
    if SINGULARS_IN_S.contains(&stem) || ["ss", "x", "ch", "sh", "zz"].iter().any(|end| stem.ends_with(end)) {
        return Some(stem.to_owned());
    }
    if stem.ends_with("lys") || stem.ends_with("enthes") {
        return Some(format!("{stem}is"));
    }
    let latin = stem.ends_with("us") && !stem.ends_with("ous") && !stem.ends_with("aus");
    (latin || stem == "iris").then(|| stem.to_owned())
}

/// Returns the plural of a lower-case word. Plurals are returned unchanged.
pub(crate) fn plural(word: &str) -> String {
    if INVARIANT_WORDS.contains(&word) || (singular(word) != word) {
        return word.to_owned();
    }
    if let Some((_, many)) = IRREGULAR_WORDS.iter().find(|(one, _)| *one == word) {
        return (*many).to_owned();
    }
    if let Some(stem) = word.strip_suffix("woman") {
        return format!("{stem}women");
    }
    if let Some(stem) = word.strip_suffix("man").filter(|stem| PREFIXES_OF_MAN.contains(stem)) {
        return format!("{stem}men");
    }
    if let Some(stem) =
        word.strip_suffix("is").filter(|stem| stem.ends_with("lys") || stem.ends_with("enthes"))
    {
        return format!("{stem}es");
    }
    if let Some(stem) = word.strip_suffix('y').filter(|stem| stem.ends_with(is_consonant)) {
        return format!("{stem}ies");
    }
    if ["s", "x", "z", "ch", "sh"].iter().any(|end| word.ends_with(end)) {
        return format!("{word}es");
    }
    format!("{word}s")
}

fn is_consonant(c: char) -> bool {
    c.is_alphabetic() && !matches!(c, 'a' | 'e' | 'i' | 'o' | 'u')
}
